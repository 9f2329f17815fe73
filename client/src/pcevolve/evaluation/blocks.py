"""Distances and kernels between two sets of embeddings, some rows at a time: no matrix of all pairs is ever there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

FloatArray = NDArray[np.float64]
Kernel = Callable[[FloatArray, FloatArray], FloatArray]
PAIRS = 2**23
"""Most pairs that are looked at together: 64 MiB of them."""


def distances(rows: FloatArray, others: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Distances of some rows to all others, float64 ``(rows of the block, others)``, block after block.

    Args:
        rows: float64 ``(rows, dimension)``.
        others: float64 ``(others, dimension)``, not empty.
    """
    for block in blocks(len(rows), len(others)):
        yield block, cdist(rows[block], others)


def blocks(rows: int, others: int) -> Iterator[slice]:
    """Which rows are looked at together."""
    step = max(1, PAIRS // others)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def nearest(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Distance of each row to the nearest of others, float64 ``(rows,)``."""
    return np.concatenate([gaps.min(axis=1) for _, gaps in distances(rows, others)])


def radii(rows: FloatArray, rank: int) -> FloatArray:
    """Distance of each row to its neighbour of a rank among the rows, float64 ``(rows,)``; rank 0 is the row itself."""
    found = np.empty(len(rows))
    for block, gaps in distances(rows, rows):
        found[block] = np.partition(gaps, rank, axis=1)[:, rank]  # copied: a view would keep the whole block
    return found


def kernel_sum(kernel: Kernel, rows: FloatArray, others: FloatArray) -> float:
    """Sum of a kernel over all pairs."""
    return float(sum(kernel(rows[block], others).sum() for block in blocks(len(rows), len(others))))


def inside(points: FloatArray, centres: FloatArray, reach: FloatArray) -> Counts:
    """Which points lie within the reach of which centres.

    Args:
        points: float64 ``(points, dimension)``.
        centres: float64 ``(centres, dimension)``.
        reach: float64 ``(centres,)``.

    Returns:
        Number of centres in whose reach each point lies, int64 ``(points,)``, and which centres have any, bool
        ``(centres,)``.
    """
    counts, reached = np.empty(len(points), dtype=np.int64), np.zeros(len(centres), dtype=np.bool_)
    for block, gaps in distances(points, centres):
        near = gaps <= reach[None, :]
        counts[block] = near.sum(axis=1)
        reached |= near.any(axis=0)
    return counts, reached


Counts = tuple[NDArray[np.int64], NDArray[np.bool_]]
