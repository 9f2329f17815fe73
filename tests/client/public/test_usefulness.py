"""The word for a dataset's likely use, by figures and bounds."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from scipy import stats

from pcevolve.public.usefulness import Assessment


@pytest.mark.parametrize(
    ("apart", "distance", "alike", "word"),
    [
        (9.0, 0.75, 0.80, "useful"),
        (5.0, 0.75, 0.80, "useful"),
        (None, 0.75, None, "useful"),
        (9.0, 0.76, 1.0, "doubtful"),
        (9.0, 0.5, 0.74, "doubtful"),
        (4.99, 0.5, 1.0, "doubtful"),
        (9.0, 1.10, 1.0, "doubtful"),
        (9.0, 1.10, 0.0, "doubtful"),
        (5.0, 1.11, 0.80, "doubtful"),
        (4.99, 1.11, 1.0, "not useful"),
        (9.0, 1.11, 0.74, "not useful"),
        (None, 1.11, None, "not useful"),
        (9.0, 1.11, None, "not useful"),
        (0.0, 1.11, -1.0, "not useful"),
    ],
)
def test_the_word_follows_from_the_bounds(
    apart: float | None, distance: float, alike: float | None, word: str
):
    found = Assessment(classes_apart=apart, distance=distance, agreement=alike)
    assert found.word == word
    assert f"{distance:.2f} clip radii" in found.reason("image")
    assert ("cosine" in found.reason("image")) == (alike is not None)
    assert found.advice("image")


def test_one_class_is_taken_for_another_where_noise_goes_half_of_the_way_between_them():
    assert Assessment(classes_apart=5.0, distance=1).confusion == pytest.approx(stats.norm.sf(2.5))
    assert Assessment(classes_apart=None, distance=1).confusion is None


def test_numbers_that_are_none_are_no_assessment():
    for values in (
        {"classes_apart": float("nan"), "distance": 1},
        {"classes_apart": -0.01, "distance": 1},
        {"classes_apart": 1, "distance": -1},
        {"classes_apart": 1, "distance": 1, "agreement": 1.01},
    ):
        with pytest.raises(ValidationError):
            Assessment(**values)
