"""Distances of embeddings, nearest candidates and clusters. Results do not depend on the batch size, bit for bit.

The results are private until a mechanism has drawn from them. Matrix products score all candidates for a block
of points in float32, and again in float64 if many candidates remain. A bound on the error of these scores rules
out candidates that are certainly too far away. The remaining candidates are compared by distances that are
summed in a fixed order. The answer therefore equals brute force, whatever library multiplies the matrices and in
whatever order. FAISS and scikit-learn return the rounded results of their products, which depend on the block
and the number of threads. FAISS is also slower (``benchmarks/nearest.py``).

>>> nearest_candidates(np.array([[0.0, 0.2], [2.0, 2.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])).ravel().tolist()
[0, 1]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.encoders.singly import lone_workers, thread_count

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Embeddings: TypeAlias = NDArray[np.floating[Any]]
"""float64 ``(n, d)``, or float32 if it holds the same numbers. Both types give equal results for float64 candidates."""

FEW_PRODUCTS = 2**22
"""Number of multiplications up to which it is faster to compare all pairs than to prepare a screen."""
BLOCK_ROWS = 256
"""Largest number of points that a thread scores at a time."""
BLOCK_SCORES = 2**21
"""Largest number of scores that a thread holds at once: 8 MB in float32.

With more candidates, a thread therefore scores fewer points at a time.
"""
SPARE = 16
"""Extra candidates that a float32 screen may keep beyond ``count``. If it keeps more, a float64 screen follows."""
BATCH_NUMBERS = 2**19
"""Number of coordinate differences that are held at a time: 4 MiB."""
FINEST = 20
"""Binary digits that the largest coordinate keeps. Squared distances in 1000 dimensions then stay below 2**53."""
MOST_STEPS = 30
"""Largest number of k-means iterations. Most runs converge earlier."""


def nearest_candidates(points: Embeddings, candidates: FloatArray, count: int = 1) -> IntArray:
    """Return the nearest candidates of each point. ``nearest_of_some`` describes the result."""
    return nearest_of_some(points, np.arange(len(points)), candidates, count)


def nearest_of_some(points: Embeddings, places: IntArray, candidates: FloatArray, count: int = 1) -> IntArray:
    """Return the nearest candidates of some points in Euclidean distance, with bounded memory besides the points.

    Args:
        points: Private embeddings ``(n, d)``, an array or a memory map. They are read in blocks of rows.
        places: int64 ``(k,)``, rows of ``points``.
        candidates: Public embeddings ``(m, d)``. A finite candidate always counts as nearer than a candidate that
            is not finite.
        count: The number of candidates for each point, at most ``m``.

    Returns:
        int64 ``(k, count)``: the first indices of a stable argsort of ``((point - candidate) ** 2).sum()`` in
        float64. A point that is not finite gets the lowest indices. Row ``i`` depends on point ``i`` and the
        candidates only, bit for bit. No other point, order, block size or number of threads can change the row.
        Adding or removing a point therefore adds or removes one vote, and replacing a point moves one vote.
    """
    eligible = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    if len(eligible) < count:
        eligible = np.arange(len(candidates))
    elif count == 1:
        # A duplicate can never be chosen before the first copy, and a provider may send many copies, each of which
        # would have to be compared.
        eligible = eligible[np.unique(find_firsts_of_equals(candidates[eligible]))]
    field = candidates[eligible].astype(np.float64)
    if len(places) * field.size <= FEW_PRODUCTS:
        order = squared_distances(points[places], field).argsort(axis=1, kind="stable")
        return np.asarray(eligible[order[:, :count]])
    near, search = np.empty((len(places), count), dtype=np.int64), _Search(field, count)

    def fill(rows: slice) -> None:
        near[rows] = eligible[search.find(points[places[rows]].astype(np.float64))]

    with lone_workers(thread_count()) as pool:
        rows = max(1, min(BLOCK_ROWS, BLOCK_SCORES // len(field)))
        deque(pool.map(fill, _slices(len(places), rows)), maxlen=0)  # raises what a thread raised
    return near


def find_firsts_of_equals(rows: Embeddings) -> IntArray:
    """Return, for each row, the index of the first row that equals it, int64 ``(rows,)``."""
    first: dict[bytes, int] = {}
    positive = rows + 0.0  # as bytes, 0 and -0 differ
    return np.array(
        [first.setdefault(row.tobytes(), place) for place, row in enumerate(positive)], dtype=np.int64
    )


class _Search:
    """A search for the ``count`` nearest candidates.

    The scores ``f = |s|² / 2 - <x, s>`` order candidates in the same way as their distances. ``x`` is a point and
    ``s`` a candidate, both relative to the candidates' mean. Subtracting the mean keeps the norms small, and
    therefore the errors.
    """

    def __init__(self, field: FloatArray, count: int) -> None:
        self._field, self._count = field, count
        with np.errstate(over="ignore", invalid="ignore"):
            self.centre = field.mean(axis=0)
            centred = field - self.centre
            halves = np.square(centred).sum(axis=1) / 2
            self._reach = float(np.sqrt(2 * halves.max()))
            # One product gives the whole score: (point, 1) times (minus the candidate, half its squared norm).
            factor = np.concatenate([-centred.T, halves[None]])
            self._factors = {kind: factor.astype(kind) for kind in (np.float32, np.float64)}

    def find(self, points: FloatArray) -> IntArray:
        """Return the nearest candidates of each point, int64 ``(n, count)``."""
        # A warning would reveal facts about single points. Scores that overflow are compared one by one or tie.
        with np.errstate(over="ignore", invalid="ignore"):
            kept = self._keep(points, np.float32)
            rows, columns, left = _list_kept(kept)
            many = np.flatnonzero(left > self._count + SPARE)
            if len(many):
                kept[many] &= self._keep(points[many], np.float64)
                rows, columns, left = _list_kept(kept)
            several = left[rows] > 1
            columns[several] = self._sort(points, rows[several], columns[several])
        starts = np.cumsum(left) - left
        return np.asarray(columns[starts[:, None] + np.arange(self._count)])

    def _keep(self, points: FloatArray, kind: type[np.floating[Any]]) -> BoolArray:
        """Mark the candidates that may be among the ``count`` nearest, given the error. The result is bool ``(n, m)``.

        Scores that overflow rule no candidate out, because a comparison with NaN is false.
        """
        scores, error = self.score(points, kind)
        last = self._count - 1
        farthest = scores.min(axis=1) if not last else np.partition(scores, last, axis=1)[:, last]
        # The limit is computed in float64 and rounded up. A limit computed in float32 could be rounded down, and then
        # rule out a candidate that may still be near.
        limit = np.nextafter((farthest + 2 * error).astype(kind), kind(np.inf))
        ruled_out = scores > limit[:, None]
        return np.logical_not(ruled_out, out=ruled_out)

    def score(self, points: FloatArray, kind: type[np.floating[Any]]) -> tuple[Embeddings, FloatArray]:
        """Return the scores ``(n, m)`` in the given precision, and a bound on the error for each point.

        The bound covers ``|score - f|`` and the rounding of the float64 distances that decide in the end. Let
        ``X = |x|`` and ``S = max |s|``, and let there be ``d`` coordinates. Let ``e`` be twice the unit roundoff. In
        any order of summation, a product of ``d + 1`` terms has an error of at most ``(d + 1) e (X S + S² / 2)``
        (Higham 2002, section 3.1). Rounding its factors adds ``e (X S + S² / 2)``. Half a squared norm has an error of
        ``d e S² / 4``, and half a squared distance of ``(d + 2) e (X + S)² / 4``. The sum is less than
        ``(d + 3) e (X + S)²``. The code uses ``d + 8``, which covers the rounding of the norms. The last summand covers
        underflow.
        """
        centred = points - self.centre
        extended = np.ones((len(points), len(self.centre) + 1), dtype=kind)
        extended[:, :-1] = centred
        width, limits = len(self.centre) + 8, np.finfo(kind)
        whole = np.square(np.sqrt(np.square(centred).sum(axis=1)) + self._reach)
        error = width * (float(limits.eps) * whole + 4 * float(limits.tiny))
        error[~(whole < float(limits.max) / 4)] = np.inf  # a sum on the way may overflow
        return extended @ self._factors[kind], error

    def _sort(self, points: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
        """Sort the remaining candidates of each row by exact distance. ``rows`` must be in ascending order."""
        squared = np.empty(len(rows))
        for part in _slices(len(rows), max(1, BATCH_NUMBERS // points.shape[1])):
            difference = self._field[columns[part]] - points[rows[part]]
            squared[part] = np.square(difference, out=difference).sum(axis=1)
        return columns[np.lexsort((squared, rows))]  # stable: of equally near ones the first


def _list_kept(kept: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the row and column indices of the kept entries, row by row, and the number of kept entries in each row."""
    # ``numpy.nonzero`` would take five times as long: it is slower on two dimensions than on one.
    rows, columns = np.divmod(np.flatnonzero(kept), kept.shape[1])
    return rows, columns, np.bincount(rows, minlength=len(kept))


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, length, step))


def are_single(values: Embeddings) -> bool:
    """Return True if float32 holds these numbers exactly. NaN counts as exact."""
    if values.dtype == np.float32:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        # NaN is rare, and a comparison that accepts NaN takes four times as long, so the fast comparison comes first.
        return bool((single == values).all()) or np.array_equal(single, values, equal_nan=True)


def distances(points: Embeddings, candidates: FloatArray) -> FloatArray:
    """Return Euclidean distances, float64 ``(points, candidates)``. They are not finite where a row is not finite."""
    return np.sqrt(squared_distances(points, candidates))


def squared_distances(points: Embeddings, candidates: FloatArray) -> FloatArray:
    """Return squared Euclidean distances, float64 ``(points, candidates)``. They are not finite where a row is not.

    They are computed row by row. The distances of a point therefore depend only on this point and the candidates,
    bit for bit. A matrix product does not guarantee this.
    """
    squared = np.empty((len(points), len(candidates)))
    with np.errstate(invalid="ignore", over="ignore"):
        for row, point in zip(squared, points, strict=True):
            row[:] = np.square(candidates - point).sum(axis=1)
    return squared


def find_centres(points: FloatArray, count: int) -> FloatArray:
    """Find the centres of at most ``count`` clusters of points by k-means. The result is deterministic.

    k-means starts from every (n / count)-th point, in the given order. A cluster that loses all its points keeps its
    centre.

    Args:
        points: Finite ``(n, d)``, n and d at least 1.
        count: At least 1. If there are at most this many points, each point is a centre.

    Returns:
        float64 ``(clusters, d)``.

    Source: Lloyd 1982.
    """
    if len(points) <= count:
        return points
    # Integers below 2**53 are added exactly in any order, so every machine with these embeddings finds the same
    # clusters.
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
    return nearest_candidates(points, found)[:, 0]


def _means(points: FloatArray, groups: IntArray, before: FloatArray) -> FloatArray:
    sums = np.zeros_like(before)
    np.add.at(sums, groups, points)
    sizes = np.bincount(groups, minlength=len(before))[:, None]
    return np.where(sizes > 0, np.rint(sums / np.maximum(sizes, 1)), before)
