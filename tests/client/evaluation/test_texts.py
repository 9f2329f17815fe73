"""Figures of texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.evaluation import texts as module
from pcevolve.evaluation.texts import LEAST, distinct_pairs, mauve, next_word_accuracy

TEXTS = st.lists(st.text("ab ", max_size=8), min_size=1, max_size=6)


def test_the_next_word_is_guessed_from_two_words_from_one_and_from_none():
    learned = ["a b c", "a b c", "x b d"]
    # A text begins with a; after "a b" comes c, after "x b" d, after anything else and b again c, then the end.
    assert next_word_accuracy(learned, ["A  B C"]) == 1.0
    assert next_word_accuracy(learned, ["x b d"]) == pytest.approx(3 / 4)
    assert next_word_accuracy(learned, ["q b c"]) == pytest.approx(2 / 4)
    assert next_word_accuracy(learned, ["q b d"]) == pytest.approx(1 / 4)
    assert next_word_accuracy(["", "a"], ["", ""]) == 1.0


def test_of_equally_frequent_words_the_first_in_the_alphabet_is_said():
    assert next_word_accuracy(["z", "y", "y z", "z y"], ["z"]) == next_word_accuracy(
        ["z y", "y z", "y", "z"], ["z"]
    )


@given(TEXTS, TEXTS, st.randoms())
def test_neither_the_order_of_texts_nor_how_often_all_stand_there_matters(learned, tested, random):
    found = next_word_accuracy(learned, tested)
    assert 0 <= found <= 1
    assert next_word_accuracy(random.sample(learned, len(learned)) * 2, tested) == found


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_a_text_whose_words_are_all_different_is_learned_by_heart(words):
    text = " ".join(words)
    assert next_word_accuracy([text], [text]) == 1.0


def test_mauve_tells_equal_sets_from_others_and_says_nothing_of_few():
    random = np.random.default_rng(0)
    one, like, other = (random.normal(size=(4 * LEAST, 8)) + shift for shift in (0, 0, 3))
    near, far = mauve(one, like), mauve(one, other)
    assert near > 0.7 > 0.2 > far
    assert mauve(one, like) == near
    assert mauve(one[: LEAST - 1], like) is None


def test_without_its_library_mauve_says_nothing(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert mauve(np.zeros((2 * LEAST, 2)), np.zeros((2 * LEAST, 2))) is None


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
    assert distinct_pairs(texts) == pytest.approx(share)
