"""Nearest candidate of each record, exact, in bounded memory, over embeddings that need not fit in memory; no noise.

What these functions return is private until a mechanism has drawn from it.

Two steps. A *screen* scores all candidates with one matrix product of low precision and rules out those that a
proved bound on its error shows to be farther than another. The few that are left are *settled* by float64
distances. The bound uses no property of the data, so the answer is that of float64 brute force; what the data
decide is only how many candidates are left to settle, that is, the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MEMORY_BYTES = 256 * 2**20

PAIRS = 64  # settled at a time: their differences stay in the processor's cache
LONG = 128  # to settle a 128th of the candidates costs as much as to score all of them in float32
WORTHWHILE = 2**24  # multiplications below which rounding to bfloat16 saves nothing
FLOOR = 2.0**-56  # covers entries whose squares or products vanish in float32


class Rows(Protocol):
    """Embeddings ``(n, d)`` read by slices of rows: an array, a memory map or an `EmbeddingFile`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, d)``."""

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


@dataclass(frozen=True)
class EmbeddingFile:
    """A ``.npy`` file ``(n, d)`` of which only the rows asked for are in memory.

    A memory map kept open counts every page it has read as memory of the process; this one is closed after each
    read. Write such a file block by block with ``numpy.lib.format.open_memmap``.
    """

    path: Path

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, d)``, from the file's header."""
        return self._open().shape

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        return np.array(self._open()[rows])

    def _open(self) -> NDArray[Any]:
        mapped: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return mapped


# Warnings would tell of single records; what overflows is settled, or ties.
@np.errstate(over="ignore", invalid="ignore")
def nearest(records: Rows, candidates: NDArray[Any], memory_bytes: int = MEMORY_BYTES) -> IntArray:
    """Index of the nearest candidate of each record in Euclidean distance.

    Args:
        records: Private embeddings ``(n, d)``, float16, float32 or float64, read once in blocks of rows.
        candidates: Public embeddings ``(m, d)``; a row that is not finite is never the nearest.
        memory_bytes: Bound on the working memory beside the candidates and their copies (22 bytes per entry).

            It does not bound the time: one candidate far outside the others loosens every bound.

    Returns:
        int64 ``(n,)``: the argmin of ``((record - candidate) ** 2).sum()`` in float64, the lowest index among
        equals; a record that is not finite gets the lowest usable index. Entry ``i`` is a function of record ``i``
        and of the candidates, bit for bit: neither the other records, nor their order, nor ``memory_bytes``, nor
        the number of threads can change it. Adding or removing a record therefore adds or removes one vote, and
        replacing one moves one vote.

    Raises:
        ValueError: No candidate is finite.
    """
    entrants = _distinct(candidates)
    field = np.asarray(candidates[entrants], dtype=np.float64)
    votes = np.empty(records.shape[0], dtype=np.int64)
    count = max(1, memory_bytes // (64 * len(field) + 24 * field.shape[1]))
    screening = _Screening(field, count)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for rows in _blocks(len(votes), count):
            block = records[rows]
            votes[rows] = entrants[_settle(block, field, screening.shortlist(block), pool)]
    return votes


def _distinct(candidates: NDArray[Any]) -> IntArray:
    """Indices of the usable candidates, in order; of identical rows the first, the others cannot win."""
    usable = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    if not len(usable):
        raise ValueError("no candidate has a finite embedding: there is nothing to be nearest to")
    first = {candidates[index].tobytes(): index for index in usable[::-1]}
    return np.sort(np.fromiter(first.values(), dtype=np.int64))


def _blocks(length: int, count: int) -> Iterator[slice]:
    return (slice(start, start + count) for start in range(0, length, count))


@dataclass(frozen=True)
class _Screen:
    """All candidates of the race ``f = |s|^2 / 2 - <x, s>`` by a matrix product of limited precision.

    ``x`` and ``s`` are records and candidates relative to a public centre, which makes their norms, and with them
    the error, small; ``f`` orders candidates as their distances do.
    """

    centre: torch.Tensor  # float32 (d,)
    rounded: torch.Tensor  # (m, d) in the precision of the product
    halves: torch.Tensor  # float32 (m,): |s|^2 / 2
    norm: float  # largest |s|
    lost: float  # largest |s - rounded|

    @classmethod
    def of(cls, field: FloatArray, precision: torch.dtype) -> _Screen:
        """Prepare candidates, float64 ``(m, d)``."""
        centre = torch.from_numpy(field.mean(axis=0)).float()
        exact = torch.from_numpy(field) - centre
        rounded = exact.to(precision)
        norms = torch.linalg.vector_norm(exact, dim=1)
        lost = torch.linalg.vector_norm(exact.sub_(rounded), dim=1)
        return cls(centre, rounded, (norms.square() / 2).float(), float(norms.max()), float(lost.max()))

    def keeps(self, records: torch.Tensor) -> torch.Tensor:
        """Which candidates may be the nearest.

        Args:
            records: float32 ``(n, d)``.

        Returns:
            bool ``(n, m)``; a candidate is ruled out only if another one is nearer beyond the error of both scores.
            Values that overflow rule nothing out: a comparison with NaN is false.
        """
        scores, error = self.score(records)
        worst = scores.amin(dim=1) + 2 * error
        return (scores > worst.float()[:, None]).logical_not_()

    def score(self, records: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores, float32 ``(n, m)``, and for each record a bound on their error, float64 ``(n,)``."""
        centred = records - self.centre
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
        - ``2^-22 (S^2 / 2 + P)``: float32 halves, differences and threshold;
        - ``d 2^-50 (X^2 + S^2)``: the rounding errors of the float64 distances whose argmin is promised.

        ``rx`` also contains the float32 rounding of the record and of the difference to the centre. Norms taken in
        float32 are right up to a factor ``1 + gamma``, and up to ``d FLOOR`` where squares underflow.
        """
        width = len(self.centre)
        gamma = (width + 8) * 2.0**-23
        unit = float(torch.finfo(self.rounded.dtype).eps) / 2
        size, floor = self.norm + width * FLOOR, width * FLOOR
        lost = lost + 2.0**-22 * (norm + float(torch.linalg.vector_norm(self.centre.double()))) + floor
        norm = norm + floor
        products = lost * size + (norm + lost) * (self.lost + floor + gamma * size) + unit * peak
        float32 = 2.0**-22 * (float(self.halves.max()) + peak)
        float64 = width * 2.0**-50 * (norm.square() + size**2)
        return (products + float32 + float64) * (1 + 2 * gamma)


def _products(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    if rows.dtype == torch.float32:
        # torch may have been told to multiply float32 in a lower precision; NumPy cannot be.
        return torch.from_numpy(rows.numpy() @ columns.numpy().T)
    return (rows @ columns.T).float()


class _Screening:
    """Chooses the precision of the screens: bfloat16 where the processor multiplies it faster, else float32."""

    def __init__(self, field: FloatArray, count: int) -> None:
        self._field = field
        coarse = has_fast_bfloat16() and count * field.size >= WORTHWHILE
        self._coarse = _Screen.of(field, torch.bfloat16) if coarse else None

    @cached_property
    def _fine(self) -> _Screen:
        return _Screen.of(self._field, torch.float32)

    def shortlist(self, block: NDArray[Any]) -> NDArray[np.bool_]:
        """Candidates that may be the nearest of each record of the block, bool ``(n, m)``.

        Records whose list stays long are screened again in float32. Where lists are so long that bfloat16 saves
        nothing (candidates close to each other), it is float32 alone from the next block on. Both change the time,
        never the answer.
        """
        records = torch.from_numpy(np.array(block, dtype=np.float32))
        if self._coarse is None or len(block) * self._field.size < WORTHWHILE:
            return self._fine.keeps(records).numpy()
        kept = self._coarse.keeps(records)
        lengths, longest = np.count_nonzero(kept.numpy(), axis=1), kept.shape[1] // LONG + 1
        again = torch.from_numpy(lengths > longest)
        if again.any():
            kept[again] = self._fine.keeps(records[again])
        if np.minimum(lengths, longest).mean() > longest / 2:
            self._coarse = None
        return kept.numpy()


def has_fast_bfloat16() -> bool:
    """Whether oneDNN multiplies bfloat16 in hardware, accumulating in float32."""
    # Older versions of torch cannot tell; elsewhere bfloat16 is emulated: slower, and not always summed in float32.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(available and capabilities.get("avx512_bf16", False))


# The memory of a row: 64 bytes per candidate are the most that a list of all of them takes here.
def _settle(
    block: NDArray[Any], field: FloatArray, kept: NDArray[np.bool_], pool: ThreadPoolExecutor
) -> IntArray:
    """Nearest of the candidates kept, int64 ``(n,)``; only records with more than one of them need distances."""
    row, column = np.divmod(np.flatnonzero(kept), kept.shape[1])
    counts = np.bincount(row, minlength=len(kept))
    close = np.flatnonzero(counts[row] > 1)
    parts = (close[part] for part in _blocks(len(close), PAIRS))
    found = pool.map(lambda part: _squared(block[row[part]], field[column[part]]), parts)
    distance = np.zeros(len(row))
    distance[close] = np.concatenate([np.empty(0), *found])
    # Stable: among equal distances the lowest column stays first. NaN, from a record that is not finite, is equal
    # to itself.
    order = np.lexsort((distance, row))
    winner: IntArray = column[order[np.cumsum(counts) - counts]]
    return winner


@np.errstate(over="ignore", invalid="ignore")  # each thread has its own
def _squared(records: NDArray[Any], candidates: FloatArray) -> FloatArray:
    """Squared distances of pairs of rows ``(k, d)``, float64 ``(k,)``, each summed in one fixed order."""
    difference = records.astype(np.float64)
    difference -= candidates
    return np.asarray(np.square(difference, out=difference).sum(axis=1), dtype=np.float64)
