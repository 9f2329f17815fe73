"""Texts as hashed words, and words that come again."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.keeper.evaluation.texts import find_longest_copied_span, hash_ngrams


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
