"""Utilities of candidates in the eyes of the private data (PCEvolve, section 4.1); no files, no noise.

What these functions return is private until a mechanism has drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
TAU = 10.0


def distances(candidates: FloatArray, centres: FloatArray) -> FloatArray:
    """Euclidean distances, float64 ``(candidates, classes)``; not finite where an embedding is not."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(
            np.linalg.norm(candidates[:, None, :] - centres[None, :, :], axis=2), dtype=np.float64
        )


def pcevolve(distance: FloatArray, own: int, tau: float = TAU) -> FloatArray:
    """Similarity calibrator after contrastive filter, ``u = h∘g``.

    A candidate whose own class centre is strictly the nearest passes the filter and gets
    ``exp(-tau * (d - d_min) / (d_max - d_min))`` over those that pass; all others get 0.

    Args:
        distance: float64 ``(candidates, classes)`` to the private class centres.
        own: Column of the candidates' own class.
        tau: Calibrating factor, > 0.

    Returns:
        float64 ``(candidates,)`` in [0, 1]. Any change of the private data moves an entry by at most 1, so the
        sensitivity is 1 under ``replace-one`` and under ``add-remove``; the utility is not monotone.

    Source: PCEvolve, equations 1 and 3.
    """
    others = np.delete(distance, own, axis=1).min(axis=1)
    passes = np.isfinite(distance).all(axis=1) & (distance[:, own] < others)
    utility = np.zeros(len(distance))
    if passes.any():
        near = distance[passes, own]
        spread = near.max() - near.min()
        utility[passes] = np.exp(-tau * (near - near.min()) / spread) if spread > 0 else 1.0
    return utility


UTILITIES: dict[str, Callable[[FloatArray, int], FloatArray]] = {"pcevolve": pcevolve}
