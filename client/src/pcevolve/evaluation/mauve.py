"""MAUVE of two sets of texts (Pillutla et al. 2021), where its library is installed; private."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

LEAST = 40
"""Texts of either set below which it says nothing."""
_SEED = 25


def mauve(synthetic: NDArray[np.float64], real: NDArray[np.float64]) -> float | None:
    """Area under the curve of divergences between two sets of embeddings, in (0, 1]; 1 for equal sets.

    Buckets hold about forty texts each. The number depends on that and on the encoder: compare only alike.

    Returns:
        None where the library is missing, or there are too few texts.
    """
    fewest = min(len(synthetic), len(real))
    if find_spec("mauve") is None or fewest < LEAST:
        return None
    from mauve import compute_mauve

    found = compute_mauve(
        p_features=synthetic, q_features=real, num_buckets=max(2, fewest // 20), seed=_SEED, verbose=False
    )
    return float(found.mauve)
