"""How many different pairs of words a set of texts holds; private where the texts are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pcevolve.modality.texts.reading import Text


def distinct_pairs(texts: Sequence[Text | None]) -> float:
    """Share of pairs of neighbouring words that occur for the first time, letters' case aside; 0 if there is none.

    It falls as a set grows, so only sets of about equal size are comparable.

    Args:
        texts: In any order; None for what is none.

    Source: Li et al. 2016, distinct-2.
    """
    pairs = [pair for text in texts for pair in pairwise((text or "").casefold().split())]
    return len(set(pairs)) / len(pairs) if pairs else 0.0
