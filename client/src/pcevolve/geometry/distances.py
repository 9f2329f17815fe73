"""Distances between embeddings and nearest candidates, the same bit for bit however many rows are asked about at once.

What these functions return is private until a mechanism has drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.geometry.nearest import nearest

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Embeddings: TypeAlias = NDArray[np.floating[Any]]
"""float64 ``(n, d)``, or float32 where that holds the same numbers; with float64 candidates no result differs."""
Search: TypeAlias = Callable[[Embeddings, IntArray, FloatArray, int], IntArray]
"""See ``nearest_of_some``."""

FEW_PRODUCTS = 2**22
"""Multiplications up to which comparing one by one takes less time than to prepare a screen."""
BLOCK_ROWS = 2**13
"""Points that are copied and compared at a time: 640 MB of distances at 10,000 candidates of which none can be used."""


def are_single(values: Embeddings) -> bool:
    """True if float32 holds these numbers exactly; NaN counts as held."""
    if values.dtype == np.float32:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        # to look for NaN takes four times as long as to compare, and they are rare
        return bool((single == values).all()) or np.array_equal(single, values, equal_nan=True)


def distances(points: Embeddings, candidates: FloatArray) -> FloatArray:
    """Euclidean distances, float64 ``(points, candidates)``; not finite where a row is not."""
    return np.sqrt(squared_distances(points, candidates))


def squared_distances(points: Embeddings, candidates: FloatArray) -> FloatArray:
    """Squared Euclidean distances, float64 ``(points, candidates)``; not finite where a row is not.

    Row by row: a point's distances are a function of that point and the candidates alone, bit for bit, which a
    matrix product does not promise.
    """
    squared = np.empty((len(points), len(candidates)))
    with np.errstate(invalid="ignore", over="ignore"):
        for row, point in zip(squared, points, strict=True):
            row[:] = np.square(candidates - point).sum(axis=1)
    return squared


def nearest_candidates(points: Embeddings, candidates: FloatArray, count: int = 1) -> IntArray:
    """The ``count`` nearest candidates of each point, int64 ``(points, count)``, the first of equally near ones first.

    Few points are compared one by one; many are screened first, which gives the same answer bit for bit.
    """
    if points.size * len(candidates) <= FEW_PRODUCTS or not np.isfinite(candidates).all():
        order = squared_distances(points, candidates).argsort(axis=1, kind="stable")
        return np.asarray(order[:, :count], dtype=np.int64)
    return nearest(points, candidates, count=count)


def nearest_of_some(points: Embeddings, places: IntArray, candidates: FloatArray, count: int = 1) -> IntArray:
    """The nearest candidates of each of some points, in bounded memory beside the points.

    Args:
        points: ``(points, d)``.
        places: int64 ``(n,)``, rows of ``points``.
        candidates: float64 ``(candidates, d)``, at least ``count``.
        count: How many of them.

    Returns:
        int64 ``(n, count)``, nearest first, and the first of several that are equally near.
    """
    near = np.empty((len(places), count), dtype=np.int64)
    for start in range(0, len(places), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        near[block] = nearest_candidates(points[places[block]], candidates, count)
    return near
