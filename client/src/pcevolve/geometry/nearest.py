"""Nearest candidates of each point, exact, in bounded memory, over embeddings that need not fit in memory; no noise.

What these functions return is private until a mechanism has drawn from it.

Three steps. A *screen* scores all candidates with one matrix product of low precision and rules out those that a
proved bound on its error shows to be farther than enough others. The bound shrinks with the norms, so points whose
lists stay long are screened *again*, in groups with similar lists, relative to the middle of the candidates on those.
The few that are left are *settled* one by one, by float32 differences and, where these are too close, by float64
distances. The bounds use no property of the data, so the answer is that of float64 brute force; what the data
decide is only how many candidates are left to each step, that is, the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from pcevolve.encoders.threads import lone_workers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MEMORY_BYTES = 512 * 2**20

ROW_BYTES = 24  # memory that a row of a block takes, at most, for each candidate and each dimension
BATCH_DIFFERENCES = 256  # vectors held at a time: 2 MiB in float32 at 2048 dimensions
BATCH_PAIRS = 2**13  # of points and candidates that are compared before what is left of them is looked at
LONG_LIST = 1 / 64  # of the candidates; to settle so many costs about a fifth of scoring all in float32
SMALLEST_GROUP = 4  # points with similar lists for which a centre of their own is worth its price
BFLOAT16_PRODUCTS = 2**24  # multiplications below which rounding to bfloat16 saves nothing
UNDERFLOW = 2.0**-56  # more than an entry whose square or product vanishes in float32


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
        points: Private embeddings ``(n, d)``, float16, float32 or float64, read once in blocks of rows, by
            several threads.
        candidates: Public embeddings ``(m, d)``; a row that is not finite is never near.
        memory_bytes: Bound on the working memory beside the candidates and their copies: 20 bytes per entry,
            and up to 12 more in each thread.

            It does not bound the time: one candidate far outside the others, or one coordinate far longer than
            the others, loosens every bound.
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
    entrants = _distinct(candidates) if count == 1 else _usable(candidates)
    field = _float(candidates[entrants])
    count = min(count, len(field))
    votes = np.empty((points.shape[0], count), dtype=np.int64)
    threads = torch.get_num_threads()
    share = -(-len(votes) // threads)
    size = min(share, max(1, memory_bytes // (threads * ROW_BYTES * (len(field) + field.shape[1]))))

    def vote(screening: _Screening, rows: slice) -> None:
        block = _float(points[rows])
        # Warnings would tell of single points; what overflows is settled, or ties. Each thread has its own settings.
        with np.errstate(over="ignore", invalid="ignore"):
            votes[rows] = entrants[_settle(block, field, screening.shortlist(block), count)]

    with lone_workers(threads) as pool:
        # Prepared by one of them too: torch's own threads take longer to meet than this takes.
        screening = pool.submit(_Screening, field, size, count).result()
        deque(
            pool.map(partial(vote, screening), _blocks(len(votes), size)), maxlen=0
        )  # raises what a thread raised
    return votes


def _usable(candidates: NDArray[Any]) -> IntArray:
    """Indices of the candidates with finite rows, in order."""
    usable = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    if not len(usable):
        raise ValueError("no candidate has a finite embedding: there is nothing to be nearest to")
    return usable


def _distinct(candidates: NDArray[Any]) -> IntArray:
    """Indices of the usable candidates, in order; of identical rows the first, the others cannot be the nearest."""
    usable = _usable(candidates)
    first = {candidates[index].tobytes(): index for index in usable[::-1]}
    return np.sort(np.fromiter(first.values(), dtype=np.int64))


def _float(rows: NDArray[Any]) -> NDArray[Any]:
    """A copy with the same values, in float32 where it holds all of their type, else in float64."""
    exact = np.promote_types(rows.dtype, np.float32) == np.float32
    return np.array(rows, dtype=np.float32 if exact else np.float64, order="C")


def _blocks(length: int, count: int) -> Iterator[slice]:
    return (slice(start, start + count) for start in range(0, length, max(1, count)))


@dataclass(frozen=True)
class _Screen:
    """All candidates of the race ``f = |s|^2 / 2 - <x, s>`` by a matrix product of limited precision.

    ``x`` and ``s`` are points and candidates relative to a public centre, which makes their norms, and with them
    the error, small; ``f`` orders candidates as their distances do.
    """

    centre: torch.Tensor  # float32 (d,)
    rounded: torch.Tensor  # (m, d) in the precision of the product
    halves: torch.Tensor  # float32 (m,): |s|^2 / 2
    norm: float  # largest |s|
    lost: float  # largest |s - rounded|

    @classmethod
    def of(cls, field: torch.Tensor, precision: torch.dtype) -> _Screen:
        """Prepare candidates, float32 or float64 ``(m, d)``."""
        centre = field.mean(dim=0).float()
        exact = field - centre
        rounded = exact.to(precision, copy=True)
        norms = _norms(exact)
        # The difference itself is rounded too, if the candidates are float32.
        lost = torch.linalg.vector_norm(exact.sub_(rounded), dim=1).double() + norms * 2.0**-23
        return cls(centre, rounded, (norms.square() / 2).float(), float(norms.max()), float(lost.max()))

    def keeps(self, points: torch.Tensor, count: int = 1) -> torch.Tensor:
        """Mark the candidates that may be among the ``count`` nearest.

        Args:
            points: float32 ``(n, d)``.
            count: At most m.

        Returns:
            bool ``(n, m)``; a candidate is ruled out only if ``count`` others are nearer beyond the error of all
            scores. Values that overflow rule nothing out: a comparison with NaN is false.
        """
        scores, error = self.score(points)
        worst = scores.amin(dim=1) + 2 * error
        if count > 1:  # the least score is a NaN wherever one is, of which the difference keeps everything
            worst += scores.kthvalue(count, dim=1).values - scores.amin(dim=1)
        return (scores > worst.float()[:, None]).logical_not_()

    def score(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores, float32 ``(n, m)``, and for each point a bound on their error, float64 ``(n,)``."""
        centred = points - self.centre
        rounded = centred.to(self.rounded.dtype)
        products = _products(rounded, self.rounded)
        peak = torch.maximum(-products.amin(dim=1), products.amax(dim=1))
        norm = torch.linalg.vector_norm(centred, dim=1)
        lost = torch.linalg.vector_norm(centred.sub_(rounded), dim=1)
        error = self._error(norm.double(), lost.double(), peak.double())
        return torch.sub(self.halves, products, out=products), error

    def _error(self, norm: torch.Tensor, lost: torch.Tensor, peak: torch.Tensor) -> torch.Tensor:
        """Bound on ``|score - f|`` for every candidate, float64 ``(n,)``.

        With ``X = |x|``, ``S = max |s|``, ``rx`` and ``rs`` what rounding took from them, and ``P`` the largest
        product in absolute value, the error is at most the sum of

        - ``rx S + (X + rx) rs``: the product of the rounded vectors instead of the exact ones (Cauchy-Schwarz);
        - ``gamma (X + rx) S``: its float32 accumulation in whatever order, ``gamma = d 2^-23`` (Higham 2002,
          section 3.1, with twice the unit roundoff, for units that round twice or truncate);
        - ``unit P``: rounding of the product to the precision it is returned in, half a unit in the last place;
        - ``2^-16 S^2 / 2 + 2^-21 P``: float32 halves of rounded vectors, differences and threshold;
        - ``d 2^-50 (X^2 + S^2)``: the rounding errors of the float64 distances whose argmin is promised.

        ``rx`` also contains the float32 rounding of the point and of the difference to the centre. Norms taken in
        float32 are right up to a factor ``1 + gamma``, and up to ``d UNDERFLOW`` where squares underflow.
        """
        width = len(self.centre)
        gamma = (width + 8) * 2.0**-23
        unit = float(torch.finfo(self.rounded.dtype).eps) / 2
        size, floor = self.norm + width * UNDERFLOW, width * UNDERFLOW
        lost = lost + 2.0**-22 * (norm + float(torch.linalg.vector_norm(self.centre.double()))) + floor
        norm = norm + floor
        products = lost * size + (norm + lost) * (self.lost + floor + gamma * size) + unit * peak
        float32 = 2.0**-16 * float(self.halves.max()) + 2.0**-21 * peak
        float64 = width * 2.0**-50 * (norm.square() + size**2)
        return (products + float32 + float64) * (1 + 2 * gamma)


def _norms(rows: torch.Tensor) -> torch.Tensor:
    """Euclidean norms, float64 ``(n,)``, right up to a factor ``1 + 2^-18``: float32 sums no more than 64 squares."""
    parts = [torch.linalg.vector_norm(part, dim=1).double() for part in torch.split(rows, 64, dim=1)]
    total: torch.Tensor = torch.linalg.vector_norm(torch.stack(parts), dim=0)
    return total


def _products(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    if rows.dtype == torch.float32:
        # torch may have been told to multiply float32 in a lower precision; NumPy cannot be.
        return torch.from_numpy(rows.numpy() @ columns.numpy().T)
    return (rows @ columns.T).float()


class _Screening:
    """A screen of all candidates, in bfloat16 where the processor multiplies it faster, and smaller ones after it."""

    def __init__(self, field: NDArray[Any], size: int, count: int = 1) -> None:
        self._field, self._count = torch.from_numpy(field), count
        coarse = has_fast_bfloat16() and size * field.size >= BFLOAT16_PRODUCTS
        self._precisions = (torch.bfloat16, torch.float32) if coarse else (torch.float32,)
        self._whole = _Screen.of(self._field, self._precisions[0])

    def shortlist(self, block: NDArray[Any]) -> NDArray[np.bool_]:
        """Candidates that may be among the nearest of each point of the block, bool ``(n, m)``."""
        points = torch.from_numpy(block).float()
        kept = self._whole.keeps(points, self._count).numpy()
        for precision in self._precisions:
            for group in _alike(kept):
                columns = np.flatnonzero(kept[group].any(axis=0))
                near = _Screen.of(self._field[columns], precision).keeps(points[group], self._count)
                kept[np.ix_(group, columns)] &= near.numpy()
        return kept


def _alike(kept: NDArray[np.bool_]) -> Iterator[IntArray]:
    """Points with long lists, in groups whose lists begin with the same candidate; small groups form one."""
    lengths = np.array([np.count_nonzero(each) for each in kept])
    long = np.flatnonzero(lengths > int(kept.shape[1] * LONG_LIST) + 1)
    first = kept[long].argmax(axis=1)
    order = np.argsort(first, kind="stable")
    parts = np.split(long[order], np.flatnonzero(np.diff(first[order])) + 1)
    rest = [part for part in parts if len(part) < SMALLEST_GROUP]
    yield from (part for part in parts if len(part) >= SMALLEST_GROUP)
    if len(long) and rest:
        yield np.concatenate(rest)


def has_fast_bfloat16() -> bool:
    """True if oneDNN multiplies bfloat16 in hardware, accumulating in float32."""
    # Older versions of torch cannot tell; elsewhere bfloat16 is emulated: slower, and not always summed in float32.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(available and capabilities.get("avx512_bf16", False))


def _settle(block: NDArray[Any], field: NDArray[Any], kept: NDArray[np.bool_], count: int) -> IntArray:
    """Nearest of the candidates kept, int64 ``(n, count)``; what float32 rules out is no longer kept."""
    if block.dtype == field.dtype == np.float32:
        _shorten(block, field, kept, count)
    first = kept.argmax(axis=1)
    near: IntArray = np.repeat(first[:, None], count, axis=1)
    doubtful = np.flatnonzero(np.count_nonzero(kept, axis=1) > 1)
    # Points with similar lists one after the other find the same candidates in the processor's cache.
    for row in doubtful[np.argsort(first[doubtful], kind="stable")]:
        columns = np.flatnonzero(kept[row])
        order = _squared(block[row], field, columns).argsort(kind="stable")
        near[row] = columns[order[:count]]
    return near


def _shorten(
    block: NDArray[np.float32], field: NDArray[np.float32], kept: NDArray[np.bool_], count: int
) -> None:
    """Keep of each list what may be among the nearest by float32 differences, many points at a time.

    Their error is relative to the distance. With ``gamma`` as above a squared distance is right up to a factor
    ``1 + gamma``, for any order of summation, and up to ``d 2^-126`` where squares underflow;
    ``1 + 3 gamma > (1 + gamma) / (1 - gamma)``. In float32 a threshold that overflows is infinite, and what overflows
    is not above it.
    """
    width = field.shape[1]
    for rows in _batches(kept, count):
        places, columns = np.nonzero(kept[rows])
        squared = np.empty(len(places), dtype=np.float32)
        for part in _blocks(len(places), BATCH_DIFFERENCES):
            difference = field[columns[part]]
            difference -= block[rows[places[part]]]
            squared[part] = np.einsum("ij,ij->i", difference, difference)
        last = np.searchsorted(places, np.arange(len(rows))) + count - 1
        threshold = squared[np.lexsort((squared, places))[last]]
        threshold = threshold * (1 + 3 * (width + 8) * 2.0**-23) + width * 2.0**-124
        kept[rows[places], columns] = ~(squared > threshold.astype(np.float32)[places])


def _batches(kept: NDArray[np.bool_], count: int) -> Iterator[IntArray]:
    """Points whose lists are longer than need be, in batches of about as many candidates."""
    lengths = np.count_nonzero(kept, axis=1)
    long = np.flatnonzero(lengths > count)
    long = long[np.argsort(kept[long].argmax(axis=1), kind="stable")]
    batch = np.cumsum(lengths[long]) // BATCH_PAIRS
    return iter(np.split(long, np.flatnonzero(np.diff(batch)) + 1)) if len(long) else iter(())


def _squared(point: NDArray[Any], field: NDArray[Any], columns: IntArray) -> FloatArray:
    """Squared distances ``(k,)`` of a point to candidates, each computed in one way whatever the others."""
    squared = np.empty(len(columns))
    for part in _blocks(len(columns), BATCH_DIFFERENCES):
        difference = field[columns[part]].astype(np.float64, copy=False)
        difference -= point
        squared[part] = np.square(difference, out=difference).sum(axis=1)
    return squared
