"""Figures of texts: how varied they are, MAUVE, and what a model of the next word learns.

The model stands in for fine-tuning a language model on the texts (Xie et al. 2024, next-token accuracy): it knows at
most two words before, and says the word that most often came after them. It never voted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media.texts import Text


def measure_distinct_pairs(texts: Sequence[Text | None]) -> float:
    """Share of pairs of neighbouring words that occur for the first time, letters' case aside; 0 if there is none.

    It falls as a set grows, so only sets of about equal size are comparable.

    Source: Li et al. 2016, distinct-2.
    """
    pairs = [pair for text in texts for pair in pairwise((text or "").casefold().split())]
    return len(set(pairs)) / len(pairs) if pairs else 0.0


LEAST = 40
"""Texts of either set below which it says nothing."""
_SEED = 25


def measure_mauve(synthetic: NDArray[np.float64], real: NDArray[np.float64]) -> float | None:
    """Area under the curve of divergences between two sets of embeddings, in (0, 1]; 1 for equal sets.

    Buckets hold about forty texts each. The number depends on that and on the encoder: compare only alike.

    Returns:
        None where there are too few texts.
    """
    from mauve import compute_mauve  # takes seconds to import

    if (fewest := min(len(synthetic), len(real))) < LEAST:
        return None

    found = compute_mauve(
        p_features=synthetic, q_features=real, num_buckets=max(2, fewest // 20), seed=_SEED, verbose=False
    )
    return float(found.mauve)


ORDER = 2
"""Words before, at most, by which the next one is guessed."""
_END, _BEGIN = "", " "
"""What comes after the last word and before the first; no word is either."""

Context = tuple[str, ...]


def measure_next_word_accuracy(learned: Sequence[Text | None], tested: Sequence[Text | None]) -> float:
    """Share of words, ends of texts included, that are guessed from those before them, letters' case aside.

    Args:
        learned: What the model is counted from.
        tested: Held out from it, at least one text.

    Returns:
        In [0, 1]; 0 where there is nothing to learn from.
    """
    best = _best(learned)
    guesses = [(best.get(_longest(context, best)), word) for context, word in _steps(tested)]
    return sum(guess == word for guess, word in guesses) / len(guesses)


def _best(texts: Sequence[Text | None]) -> dict[Context, str]:
    """After each context the word that follows most often; of equally frequent ones the first in the alphabet."""
    counts: dict[Context, Counter[str]] = defaultdict(Counter)
    for context, word in _steps(texts):
        for start in range(len(context) + 1):
            counts[context[start:]][word] += 1
    return {context: min(own, key=lambda word: (-own[word], word)) for context, own in counts.items()}


def _longest(context: Context, known: dict[Context, str]) -> Context:
    """As much of a context's end as is known."""
    return next((context[start:] for start in range(len(context)) if context[start:] in known), ())


def _steps(texts: Sequence[Text | None]) -> Iterator[tuple[Context, str]]:
    """Every word with the words before it."""
    for text in texts:
        words = [_BEGIN, *(text or "").casefold().split(), _END]
        for place in range(1, len(words)):
            yield tuple(words[max(0, place - ORDER) : place]), words[place]
