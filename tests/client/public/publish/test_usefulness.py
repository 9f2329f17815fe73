"""The word for a dataset's likely use, by figures and bounds."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from scipy import stats

from pcevolve.public.publish.usefulness import Assessment, choose_alike


@pytest.mark.parametrize(
    ("apart", "distance", "nearest", "alike", "word"),
    [
        (9.0, 0.62, 0.5, 0.80, "useful"),
        (5.0, 0.62, 0.5, 0.80, "useful"),
        (None, 0.62, 0.5, None, "useful"),
        (9.0, 0.63, 0.5, 1.0, "doubtful"),
        (9.0, 0.5, 0.5, 0.74, "doubtful"),
        (4.99, 0.5, 0.5, 1.0, "doubtful"),
        (9.0, 0.90, 0.75, 0.0, "doubtful"),
        pytest.param(9.0, 1.5, 0.75, 0.0, "doubtful", id="a few near ones among many far ones"),
        pytest.param(9.0, 1.6, 1.19, 0.0, "doubtful", id="a few far ones among many farther ones"),
        (9.0, 1.6, 1.21, 0.0, "not useful"),
        pytest.param(9.0, 0.85, 0.76, 1.0, "not useful", id="told apart and alike is no exception"),
        (0.0, 0.91, 0.76, -1.0, "not useful"),
        (None, 0.91, 0.76, None, "not useful"),
    ],
)
def test_the_word_follows_from_the_bounds(
    apart: float | None, distance: float, nearest: float, alike: float | None, word: str
):
    found = Assessment(classes_apart=apart, distance=distance, nearest=nearest, agreement=alike)
    assert found.word("image") == word
    assert f"{distance:.2f} clipping radii" in found.reason("image")
    assert (
        f"The nearest quarter of them lies at {nearest:.2f} clipping radii. (If this distance is above 0.75 and also "
        "above 75 % of the mean distance, a different domain is assumed.)" in found.reason("image")
    )
    assert (f"even the nearest quarter of each class lies {nearest:.2f}" in found.sentence("image")) == (
        word == "not useful"
    )
    assert ("cosine" in found.reason("image")) == (alike is not None)
    assert found.advice("image")


@pytest.mark.parametrize(("words_agree", "word"), [(0.69, "useful"), (0.70, "doubtful"), (None, "useful")])
def test_where_the_words_draw_the_released_classes_paying_adds_nothing(words_agree, word):
    found = Assessment(classes_apart=9, distance=0.3, nearest=0.1, agreement=0.9, words_agree=words_agree)
    assert found.word("image") == word
    assert (
        "images made from words alone match their class with a score of 0.70" in found.sentence("image")
    ) == (word == "doubtful")
    assert ("made from words alone cost no privacy" in found.advice("image")) == (word == "doubtful")
    assert (
        Assessment(classes_apart=9, distance=0.91, nearest=0.81, words_agree=1.0).word("image")
        == "not useful"
    )


ALIKE = "the dataset's classes differ from each other in the same way as yours"
UNLIKE = "the dataset's classes do not differ from each other in the same way as yours"


@pytest.mark.parametrize(
    ("apart", "distance", "agreement", "word", "why"),
    [
        (9.0, 1.5, 0.65, "useful", f"{ALIKE} (cosine 0.65; 0.65 or"),
        (4.0, 0.3, 0.65, "useful", f"{ALIKE} (cosine 0.65; 0.65 or"),
        (9.0, 0.3, 0.64, "doubtful", f"{UNLIKE} (cosine 0.64; 0"),
        (4.0, 1.5, 0.64, "doubtful", f"{UNLIKE} (cosine 0.64; 0"),
        (None, 0.63, None, "doubtful", "the images do not lie near your domain (0.63 clipping radii"),
        (None, 0.62, None, "useful", "the images lie near your domain, and the dataset's classes"),
    ],
)
def test_of_two_encoders_agreement_alone_decides_whether_a_dataset_is_useful(
    apart, distance, agreement, word, why
):
    values = {"classes_apart": apart, "distance": distance, "agreement": agreement}
    found = Assessment(**values, nearest=0.2, alike=0.65)
    assert found.word("image") == word
    assert found.sentence("image").startswith(why)
    assert ("(0.65 or more is good)" in found.reason("image")) == (agreement is not None)
    assert Assessment(**values, nearest=1.2, alike=0.65).word("image") == "not useful"
    assert Assessment(**values, nearest=0.2, alike=0.65, words_agree=0.7).word("image") == "doubtful"


def test_the_agreement_that_is_asked_of_two_encoders_grows_with_the_shots_as_far_as_it_was_measured():
    shots = (1, 10, 20, 35, 50, 500)
    assert [choose_alike(each) for each in shots] == [0.65, 0.65, 0.68, 0.7, 0.72, 0.72]


@pytest.mark.parametrize(
    ("distance", "alike", "word"),
    [
        (0.91, 0.69, "not useful"),
        (0.91, 0.70, "doubtful"),
        (1.10, 0.90, "doubtful"),
        (0.90, 0.10, "doubtful"),
        (0.91, None, "not useful"),
        (0.62, 0.75, "useful"),
    ],
)
def test_far_texts_are_of_another_domain_where_their_classes_differ_otherwise_too(distance, alike, word):
    found = Assessment(classes_apart=9, distance=distance, nearest=0.9, agreement=alike)
    assert found.word("text") == word
    assert found.estimate("text") == f"estimated {word}"
    assert (
        "(A different domain is assumed above 0.9 if the cosine of the classes is also below 0.7.)"
        in found.reason("text")
    )
    assert "cosine of the classes" not in found.reason("image")


def test_one_class_is_taken_for_another_where_noise_goes_half_of_the_way_between_them():
    assert Assessment(classes_apart=5.0, distance=1, nearest=1).confusion == pytest.approx(stats.norm.sf(2.5))
    assert Assessment(classes_apart=None, distance=1, nearest=1).confusion is None


def test_numbers_that_are_none_are_no_assessment():
    for values in (
        {"classes_apart": float("nan")},
        {"classes_apart": -0.01},
        {"distance": -1},
        {"nearest": -0.01},
        {"agreement": 1.01},
    ):
        with pytest.raises(ValidationError):
            Assessment(**{"classes_apart": 1, "distance": 1, "nearest": 1, **values})
