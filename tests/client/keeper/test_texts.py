"""What is done with texts and not with images."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.errors import DataError
from pcevolve.keeper.kind import read_run
from pcevolve.keeper.texts import find_longest_copied_span, hash_ngrams
from pcevolve.public.config.config import RunConfig

pytestmark = pytest.mark.system


@pytest.mark.parametrize("seed", [1, 2])
def test_texts_that_stand_there_twice_are_refused_whichever_are_drawn(tmp_path, seed):
    """One of two would be refused in some draws alone, and its owner would draw again."""
    rows = [f"{label} {n},{label}" for n in range(9) for label in ("flu", "gout")]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", "one,flu", "one,flu", *rows]))
    draw = {"subsample": 1, "shots": 1, "subsample_seed": seed, "domain": "notes", "out": tmp_path / "o"}
    with pytest.raises(DataError, match="row 2 has the same text as row 1; remove one of them"):
        read_run(RunConfig.of({"private": str(tmp_path / "t.csv"), "dialect": "chat", **draw}))


@pytest.mark.parametrize(
    ("made", "private", "found"),
    [
        (["one two", "the RED house is old"], ["a red house  is new"], (3, 1)),
        (["a b c", "b c"], ["b c"], (2, 0)),
        (["a b"], ["c d", None], (0, 0)),
        ([None, "a"], ["a"], (1, 1)),
    ],
)
def test_the_longest_run_of_words_is_found_letters_case_aside(made, private, found):
    assert find_longest_copied_span(made, private) == found


def test_a_text_without_words_has_no_features_and_others_have_length_one():
    rows = hash_ngrams(["red house", None, ""])
    assert np.isnan(rows).all(axis=1).tolist() == [False, True, True]
    assert np.linalg.norm(rows[0]) == pytest.approx(1)
