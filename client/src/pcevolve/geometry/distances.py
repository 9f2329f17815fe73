"""Distances of embeddings, nearest candidates and groups, the same bit for bit however many rows are asked about.

What these functions return is private until a mechanism has drawn from it. Embeddings need not fit in memory: one
matrix product in float64 scores all candidates of a block of points, and rules out those that a bound on its error
shows to be farther than enough others; distances that are summed in one order decide among the few that are left. So
the answer is that of brute force, whatever library multiplies, in whatever order. scikit-learn's and FAISS's searches
return what their products round to, and another block or number of threads may round otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MEMORY_BYTES = 512 * 2**20
ENTRY_BYTES = 32
"""Memory that a row of a block takes, at most, for each candidate and each dimension."""
BATCH_DIFFERENCES = 256
"""Vectors held at a time: 4 MiB at 2048 dimensions."""
ROUNDOFF = 2.0**-52
"""Twice the unit roundoff of float64, for products that are summed in any order."""


class Rows(Protocol):
    """Embeddings ``(n, d)`` read by slices of rows: an array, or a memory map of more than fits in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of embeddings and their dimension, ``(n, d)``."""

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def nearest(
    points: Rows, candidates: NDArray[Any], memory_bytes: int = MEMORY_BYTES, count: int = 1
) -> IntArray:
    """Indices of the nearest candidates of each point in Euclidean distance.

    Args:
        points: Private embeddings ``(n, d)``, float16, float32 or float64, read once in blocks of rows.
        candidates: Public embeddings ``(m, d)``; a row that is not finite is never near.
        memory_bytes: Bound on the working memory beside the candidates and a copy of them. It does not bound the time:
            where many candidates are equally near, all of them are compared one by one.
        count: How many; fewer where fewer candidates are finite.

    Returns:
        int64 ``(n, count)``: the first places of a stable argsort of ``((point - candidate) ** 2).sum()`` in float64;
        a point that is not finite gets the lowest usable indices. Row ``i`` is a function of point ``i``
        and of the candidates, bit for bit: neither the other points, nor their order, nor ``memory_bytes``, nor
        the number of threads can change it. Adding or removing a point therefore adds or removes one vote, and
        replacing one moves one vote.

    Raises:
        ValueError: No candidate is finite.
    """
    # An equal row cannot be nearer than the first of them, and of a
    # provider's many copies each would have to be compared.
    entrants = _distinct(candidates) if count == 1 else _usable(candidates)
    field = candidates[entrants].astype(np.float64)
    count = min(count, len(field))
    near = np.empty((points.shape[0], count), dtype=np.int64)
    size = max(1, memory_bytes // (ENTRY_BYTES * (len(field) + field.shape[1])))
    # Warnings would tell of single points; what overflows is compared one by one, or ties.
    with np.errstate(over="ignore", invalid="ignore"):
        screen = _Screen(field)
        for rows in _blocks(len(near), size):
            block = np.asarray(points[rows]).astype(np.float64)
            near[rows] = entrants[_settle(block, field, screen.keeps(block, count), count)]
    return near


def _usable(candidates: NDArray[Any]) -> IntArray:
    usable = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    if not len(usable):
        raise ValueError("no candidate has a finite embedding: there is nothing to be nearest to")
    return usable


def _distinct(candidates: NDArray[Any]) -> IntArray:
    # Of identical rows the first.
    usable = _usable(candidates)
    first = {candidates[index].tobytes(): index for index in usable[::-1]}
    return np.sort(np.fromiter(first.values(), dtype=np.int64))


def _blocks(length: int, count: int) -> Iterator[slice]:
    return (slice(start, start + count) for start in range(0, length, max(1, count)))


class _Screen:
    """All candidates of the race ``f = |s|² / 2 - <x, s>``, which orders them as their distances do.

    ``x`` and ``s`` are points and candidates relative to the candidates' mean, which makes their norms, and with them
    the error, small.
    """

    def __init__(self, field: FloatArray) -> None:
        self._centre = field.mean(axis=0)
        self._field = field - self._centre
        self._halves = np.square(self._field).sum(axis=1) / 2
        self._reach = float(np.sqrt(2 * self._halves.max()))

    def keeps(self, points: FloatArray, count: int) -> NDArray[np.bool_]:
        """Mark the candidates that may be among the ``count`` nearest, bool ``(n, m)``.

        A candidate is ruled out only if ``count`` others are nearer beyond the error of all scores. Values that
        overflow rule nothing out: a comparison with NaN is false.
        """
        centred = points - self._centre
        scores = self._halves - centred @ self._field.T
        last = scores.min(axis=1) if count == 1 else np.partition(scores, count - 1, axis=1)[:, count - 1]
        farthest = last + 2 * self._error(np.sqrt(np.square(centred).sum(axis=1)))
        # ``not (a > b)`` and not ``a <= b``: what overflowed to NaN stays and is compared one by one.
        return np.asarray(np.logical_not(scores > farthest[:, None]))

    def _error(self, norms: FloatArray) -> FloatArray:
        """Bound on ``|score - f|``, and on how far the float64 distances that are promised are from the true ones.

        With ``X = |x|``, ``S = max |s|`` and ``g = d 2⁻⁵²``, a product is wrong by at most ``g X S`` (Higham 2002,
        section 3.1, with twice the unit roundoff), a half by ``g S² / 2``, what rounding took from ``x`` and ``s`` adds
        ``2⁻⁵¹ X S``, and half a squared distance is wrong by ``g (X + S)² / 2``: in all less than ``2 g (X + S)²``. The
        eight more dimensions cover the norms' own rounding, the last summand what underflows.
        """
        width = len(self._centre) + 8
        relative = 2 * width * ROUNDOFF * np.square(norms + self._reach)
        return np.asarray(relative + width * np.finfo(np.float64).tiny)


def _settle(block: FloatArray, field: FloatArray, kept: NDArray[np.bool_], count: int) -> IntArray:
    """Nearest of the candidates kept, int64 ``(n, count)``."""
    near: IntArray = np.repeat(kept.argmax(axis=1)[:, None], count, axis=1)
    for row in np.flatnonzero(np.count_nonzero(kept, axis=1) > 1):
        columns = np.flatnonzero(kept[row])
        # Stable, and in one order of summation: only here is the answer decided, bit for bit.
        order = _square_distances(block[row], field, columns).argsort(kind="stable")
        near[row] = columns[order[:count]]
    return near


def _square_distances(point: FloatArray, field: FloatArray, columns: IntArray) -> FloatArray:
    """Squared distances ``(k,)`` of a point to candidates, each computed in one way whatever the others."""
    squared = np.empty(len(columns))
    for part in _blocks(len(columns), BATCH_DIFFERENCES):
        difference = field[columns[part]] - point
        squared[part] = np.square(difference, out=difference).sum(axis=1)
    return squared


Embeddings: TypeAlias = NDArray[np.floating[Any]]
"""float64 ``(n, d)``, or float32 where that holds the same numbers; with float64 candidates no result differs."""

FEW_PRODUCTS = 2**22
"""Multiplications up to which comparing one by one takes less time than to prepare a screen."""
FINEST = 20
"""Binary digits of the largest coordinate: squared distances of 1000 coordinates stay below 2**53."""
MOST_STEPS = 30
"""Of k-means, which mostly comes to rest before."""
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
        places: int64 ``(n,)``, rows of ``points``.
        count: How many of them.

    Returns:
        int64 ``(n, count)``, nearest first, and the first of several that are equally near.
    """
    near = np.empty((len(places), count), dtype=np.int64)
    for start in range(0, len(places), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        near[block] = nearest_candidates(points[places[block]], candidates, count)
    return near


def find_centres(points: FloatArray, count: int) -> FloatArray:
    """Find centres of at most ``count`` groups of points by k-means; the same for the same points.

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
    # Whole numbers below 2**53 are added exactly in any order, so every
    # machine with these embeddings finds these groups.
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
    sums = np.zeros_like(before)
    np.add.at(sums, groups, points)
    sizes = np.bincount(groups, minlength=len(before))[:, None]
    return np.where(sizes > 0, np.rint(sums / np.maximum(sizes, 1)), before)
