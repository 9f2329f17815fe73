"""Figures of texts: the next word, pairs of words, and MAUVE."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve_benchmarks.texts.figures import (
    measure_distinct_pairs,
    measure_mauve,
    measure_next_word_accuracy,
)


def test_the_next_word_is_guessed_from_two_words_from_one_and_from_none():
    learned = ["a b c", "a b c", "x b d"]
    # A text begins with a; after "a b" comes c, after "x b" d, after anything else and b again c, then the end.
    assert measure_next_word_accuracy(learned, ["A  B C"]) == 1.0
    assert measure_next_word_accuracy(learned, ["x b d"]) == pytest.approx(3 / 4)
    assert measure_next_word_accuracy(learned, ["q b c"]) == pytest.approx(2 / 4)
    assert measure_next_word_accuracy(learned, ["q b d"]) == pytest.approx(1 / 4)
    assert measure_next_word_accuracy(["", "a"], ["", ""]) == 1.0


def test_mauve_tells_equal_sets_from_others_and_says_nothing_of_few():
    random = np.random.default_rng(0)
    one, like, other = (random.normal(size=(160, 8)) + shift for shift in (0, 0, 3))
    near, far = measure_mauve(one, like), measure_mauve(one, other)
    assert near > 0.7 > 0.2 > far
    assert measure_mauve(one, like) == near
    assert measure_mauve(one[:39], like) is None


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        (["a b c", "d e"], 1.0),
        (["a b", "A B", "a b", "a b"], 0.25),
        (["a a a a"], 1 / 3),
        (["one", "", None], 0.0),
        ([], 0.0),
    ],
)
def test_pairs_that_come_again_are_counted_once(texts, share):
    assert measure_distinct_pairs(texts) == pytest.approx(share)
