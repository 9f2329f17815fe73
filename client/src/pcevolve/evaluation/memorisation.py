"""Test whether synthetic images lie closer to the private ones than to others of their kind; private.

A provider never sees a private image, so none can be copied, unless it had them all along: from a training set, or
from a former run. That is what this looks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.evaluation.closeness import nearest

COPY_SHARE = 0.1
"""A synthetic image is called a copy if it lies within this share of how far a test image typically lies."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Memorisation:
    """Distances of synthetic images to private and to test images; private.

    Attributes:
        closer: Share of the synthetic images whose nearest private image is nearer than their nearest test image, of
            equally many of both; without memorisation about one half, and with ten shots chance alone moves it far.
        copies: Places of the synthetic images that are called copies.
        ratio: Median over synthetic images of distance to the nearest private over the nearest test image.
    """

    closer: float
    copies: tuple[int, ...]
    ratio: float

    def __repr__(self) -> str:
        return "Memorisation"


def memorisation(synthetic: FloatArray, private: FloatArray, test: FloatArray, seed: int = 0) -> Memorisation:
    """Compare distances of embeddings, float64 ``(images, dimension)`` of finite rows.

    Args:
        synthetic: Of the dataset.
        private: That it was made from.
        test: Others of the same kind; as many as there are private ones are drawn, and the reverse.
        seed: Of that draw.
    """
    random, count = np.random.default_rng(seed), min(len(private), len(test))
    mine, others = (rows[random.permutation(len(rows))[:count]] for rows in (private, test))
    to_private, to_test = nearest(synthetic, mine), nearest(synthetic, others)
    typical = float(np.median(nearest(test, private)))
    copies = np.flatnonzero(nearest(synthetic, private) < COPY_SHARE * typical)
    nearer = float((to_private < to_test).mean())
    ratio = np.median(to_private / np.maximum(to_test, np.finfo(np.float64).tiny))
    return Memorisation(nearer, tuple(map(int, copies)), float(ratio))
