"""Groups of candidates, by k-means on their embeddings. All of it is public.

Coordinates are whole numbers that float64 adds up exactly in any order, so every machine that has the same embeddings
finds the same groups; from embeddings that are nearly the same it finds nearly the same centres.
"""

from __future__ import annotations

import numpy as np

from pcevolve.geometry.distances import FloatArray, IntArray, nearest_of_some

FINEST = 20
"""Binary digits of the largest coordinate: squared distances of 1000 coordinates stay below 2**53."""
MOST_STEPS = 30
"""Of k-means, which mostly comes to rest before."""


def centres(points: FloatArray, count: int) -> FloatArray:
    """Centres of at most ``count`` groups of points; the same for the same points.

    k-means begins with rows at equal distances in the order of the points, which is that in which they were asked for.
    A group that loses all of its points to others keeps its centre.

    Args:
        points: Finite ``(n, d)``, n and d at least 1.
        count: At least 1; every point is a centre where there are no more of them.

    Returns:
        float64 ``(groups, d)``.

    Source: Lloyd 1982.
    """
    if len(points) <= count:
        return points
    exponent = FINEST - int(np.frexp(np.abs(points).max())[1])
    whole = np.rint(np.ldexp(points, exponent))
    found = whole[np.arange(count) * len(points) // count]
    groups = _groups(whole, found)
    for _ in range(MOST_STEPS):
        found = _means(whole, groups, found)
        before, groups = groups, _groups(whole, found)
        if np.array_equal(before, groups):
            break
    return np.ldexp(found, -exponent)


def _groups(points: FloatArray, found: FloatArray) -> IntArray:
    return nearest_of_some(points, np.arange(len(points)), found)[:, 0]


def _means(points: FloatArray, groups: IntArray, before: FloatArray) -> FloatArray:
    """Means of the groups, in whole numbers."""
    sums = np.zeros_like(before)
    np.add.at(sums, groups, points)
    sizes = np.bincount(groups, minlength=len(before))[:, None]
    return np.where(sizes > 0, np.rint(sums / np.maximum(sizes, 1)), before)
