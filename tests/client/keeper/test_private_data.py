"""Private data as a run takes them, or refuses to."""

from __future__ import annotations

import pytest

from pcevolve.app.first import local_server
from pcevolve.errors import DataError
from pcevolve.keeper.private.offers import describe_counts, list_offers
from pcevolve.keeper.private_data import Shots, require_shots
from pcevolve.public.config.config import RunConfig


def test_a_refusal_of_shots_names_the_check_as_it_is_typed(tmp_path):
    (tmp_path / "my texts").mkdir()
    given = {"private": str(tmp_path / "my texts"), "domain": "notes", "out": "x", "dialect": "chat"}
    counts = {"a": 2, "b": 2}
    with pytest.raises(DataError, match=r"; for details: pcevolve check '/.*/my texts' --dialect chat"):
        require_shots(RunConfig.of(given), counts, "texts", lambda: counts)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "POLL_SECONDS", 0)


@pytest.mark.parametrize(
    ("held", "said", "even", "fit"),
    [
        ((10, 15), 10, True, True),
        ((10, 16), 10, False, False),
        ((10, 10), 15, True, True),
        ((10, 10), 16, True, False),
        ((15, 15), 10, True, True),
        ((16, 16), 10, True, False),
    ],
)
def test_numbers_that_are_half_as_large_again_at_most_are_about_the_same(held, said, even, fit):
    shots = Shots(dict(zip("ab", held, strict=True)), said)
    assert (shots.even, shots.fit) == (even, fit)


def test_of_classes_of_different_sizes_the_first_smallest_and_largest_are_named():
    assert describe_counts(Shots({"a": 4, "b": 9, "c": 4, "d": 9}, 4)) == "4 (a) to 9 (b)"
    assert describe_counts(Shots({"a": 4, "b": 4}, 9)) == "4"


def test_what_can_be_drawn_is_offered_with_its_price_and_nothing_where_nothing_can():
    uneven = Shots({"a": 4, "b": 9}, 6)
    counts, draw = list_offers(uneven, 4, "epsilon {}".format)
    assert "noisy class sizes are released" in counts
    assert "uses 4 units per class, drawn at random, at epsilon 4" in draw
    (even,) = list_offers(Shots({"a": 4, "b": 4}, 9), 0, str)
    assert "4: uses all units; the number becomes public" in even
