"""Which words of a text become blanks: as many as the degree says, by public randomness, the same everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.modality.texts import blank_out, normalise
from pcevolve_shared.blanks import BLANK

TEXTS = st.text(min_size=1).map(normalise).filter(bool)
GOLDEN = "a feline mammal _ _ _ fur and _ _ _ roar"
SEEDS = st.integers(0, 2**32 - 1)


@given(TEXTS, st.floats(0, 1), SEEDS)
def test_all_words_stay_where_they_are_but_as_many_as_the_degree_says(text, degree, seed):
    words, found = text.split(" "), blank_out(text, degree, seed).split(" ")
    assert len(found) == len(words)
    assert all(each in (BLANK, word) for each, word in zip(found, words, strict=True))
    gone = sum(each == BLANK != word for each, word in zip(found, words, strict=True))
    own = sum(word == BLANK for word in words)
    assert gone <= max(round(degree * len(words)), int(degree > 0)) <= gone + own


def test_golden():
    text = "a feline mammal with thick soft fur and no ability to roar"
    assert blank_out(text, 0.5, 7) == GOLDEN
    assert blank_out(text, 0.0, 7) == text
    assert set(blank_out(text, 1.0, 7).split(" ")) == {BLANK}
    assert blank_out("word", 0.01, 7) == BLANK


@pytest.mark.parametrize("degree", [0.25, 0.5])
def test_every_place_is_blank_about_as_often(degree):
    text, draws = " ".join("abcdefgh"), 2000
    counts = [0] * 8
    for seed in range(draws):
        for place, word in enumerate(blank_out(text, degree, seed).split(" ")):
            counts[place] += word == BLANK
    spread = 5 * (draws * degree * (1 - degree)) ** 0.5
    assert all(abs(count - draws * degree) < spread for count in counts)
