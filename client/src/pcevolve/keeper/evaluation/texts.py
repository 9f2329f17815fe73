"""Features of texts for a judge that never voted, and word-by-word copies; private."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media.texts import Text


def find_longest_copied_span(made: Sequence[Text | None], private: Sequence[Text | None]) -> tuple[int, int]:
    """Find the longest run of words that occurs in a text of both sets, ignoring case.

    Returns:
        Its number of words, and the index of the first synthetic text with it; 0, 0 if no word is common.
    """
    own = [(each or "").casefold().split() for each in private]
    best, place = 0, 0
    for number, text in enumerate((each or "").casefold().split() for each in made):
        while _has_span(text, own, best + 1):
            best, place = best + 1, number
    return best, place


def _has_span(text: list[str], own: list[list[str]], length: int) -> bool:
    spans = {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}
    return bool(spans) and any(
        tuple(words[start : start + length]) in spans
        for words in own
        for start in range(len(words) - length + 1)
    )


FEATURES = 2**12


def hash_ngrams(texts: Sequence[Text | None]) -> NDArray[np.float32]:
    """Hash words and word pairs with signs (Weinberger et al. 2009): float32 of length 1, NaN without words."""
    from sklearn.feature_extraction.text import HashingVectorizer  # takes seconds to import

    hashing = HashingVectorizer(n_features=FEATURES, ngram_range=(1, 2), dtype=np.float32)
    rows: NDArray[np.float32] = hashing.transform([text or "" for text in texts]).toarray()
    rows[~rows.any(axis=1)] = np.nan
    return rows
