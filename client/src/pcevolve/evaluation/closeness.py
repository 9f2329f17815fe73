"""Measure how close a synthetic set lies to real data in an encoder's space; every number here is private.

Distances and kernels are taken some rows at a time: no matrix of all pairs is ever there.

All of it is biased for few images (a Fréchet distance over 10 shots says little), so figures are
comparable only between sets of equal size on the same encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from pcevolve.evaluation import PrivateFigures

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
    """Yield slices of rows that are compared at once."""
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
    """Tell which points lie within the reach of which centres.

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


_NEIGHBOURS = 3
FEWEST = _NEIGHBOURS + 2
"""Usable images of which a distance can be told."""


def _frechet(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """With S = RᵀR for both covariances, tr (S₁S₂)^½ is the sum of the singular values of R₁R₂ᵀ."""
    shift = one.mean(axis=0) - other.mean(axis=0)
    first, second = _root(one), _root(other)
    overlap = np.linalg.svd(first @ second.T, compute_uv=False).sum()
    return max(float(shift @ shift + (first**2).sum() + (second**2).sum() - 2 * overlap), 0.0)


def _root(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R ``(min(images, dimension), dimension)`` with RᵀR the unbiased covariance of the rows."""
    centred = (rows - rows.mean(axis=0)) / np.sqrt(len(rows) - 1)
    return np.linalg.qr(centred).R


FEW = 1000
"""Images below which distances between distributions say little; the papers take ten to fifty thousand."""
_NEAREST = 5
_CMMD_SIGMA, _CMMD_SCALE = 10.0, 1000.0


@dataclass(frozen=True, repr=False)
class Closeness(PrivateFigures):
    """A synthetic set beside a real one, through one encoder; private.

    Attributes:
        frechet: Squared Fréchet distance of two Gaussians (FID on the encoder at hand), >= 0.
        precision: Share of synthetic images inside the real set's support, 0..1.
        recall: Share of real images inside the synthetic set's support, 0..1.
        kid: Kernel distance, unbiased: may be negative.
        cmmd: Distance of normalised embeddings under a Gaussian kernel, times 1000; None but for CLIP.
        density: Synthetic images in the neighbourhoods of real ones, 1 for equal sets.
        coverage: Share of real images with a synthetic one in their neighbourhood.
    """

    frechet: float
    precision: float
    recall: float
    kid: float
    cmmd: float | None
    density: float
    coverage: float
    few: bool

    def to_json(self) -> dict[str, object]:
        """For a private file or the owner's screen."""
        return asdict(self)


def measure_closeness(one: FloatArray, other: FloatArray, *, clip: bool = False) -> Closeness:
    """Compare embeddings of synthetic images with those of real ones, float64 ``(images, dimension)`` of finite rows.

    Args:
        one: Of the synthetic images, at least ``FEWEST``.
        other: Of the real ones, as many or more.
        clip: Whether the encoder is a CLIP, for which CMMD is defined.

    Source: Heusel et al. 2017 (Fréchet), Kynkäänniemi et al. 2019 with 3 neighbours (precision, recall), Binkowski et
    al. 2018 (KID), Jayasumana et al. 2024 (CMMD), Naeem et al. 2020 (density, coverage, k = 5).
    """
    inside_real, _ = inside(one, other, radii(other, _NEIGHBOURS))
    inside_synthetic, _ = inside(other, one, radii(one, _NEIGHBOURS))
    rank = min(_NEAREST, len(other) - 1)
    centres, reached = inside(one, other, radii(other, rank))
    return Closeness(
        frechet=_frechet(one, other),
        precision=float((inside_real > 0).mean()),
        recall=float((inside_synthetic > 0).mean()),
        kid=_mmd(one, other),
        cmmd=_cmmd(one, other) if clip else None,
        density=float(centres.sum() / (rank * len(one))),
        coverage=float(reached.mean()),
        few=min(len(one), len(other)) < FEW,
    )


def _cubic(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray((one @ other.T / one.shape[1] + 1) ** 3)


def _mmd(one: FloatArray, other: FloatArray) -> float:
    """Unbiased estimate of the squared maximum mean discrepancy under the cubic kernel."""
    across = kernel_sum(_cubic, one, other) / (len(one) * len(other))
    return _off_diagonal_mean(one) + _off_diagonal_mean(other) - 2 * across


def _off_diagonal_mean(rows: FloatArray) -> float:
    """Mean kernel of two different rows."""
    count, own = len(rows), ((rows**2).sum(axis=1) / rows.shape[1] + 1) ** 3
    return float((kernel_sum(_cubic, rows, rows) - own.sum()) / (count * (count - 1)))


def _gaussian(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-cdist(one, other, "sqeuclidean") / (2 * _CMMD_SIGMA**2)))


def _cmmd(one: FloatArray, other: FloatArray) -> float:
    """With the biased estimate, as its authors' code has it."""
    first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))

    def mean(a: FloatArray, b: FloatArray) -> float:
        return kernel_sum(_gaussian, a, b) / (len(a) * len(b))

    return _CMMD_SCALE * (mean(first, first) + mean(second, second) - 2 * mean(first, second))


COPY_SHARE = 0.1
"""A synthetic image is called a copy if it lies within this share of how far a test image typically lies."""


@dataclass(frozen=True, repr=False)
class Memorisation(PrivateFigures):
    """Distances of synthetic images to private and to test images; private.

    Attributes:
        closer: Share of the synthetic images whose nearest private image is nearer than their nearest test image, of
            equally many of both; without memorisation about one half, and with ten shots chance alone moves it far.
        ratio: Median over synthetic images of distance to the nearest private over the nearest test image.
    """

    closer: float
    copies: tuple[int, ...]
    ratio: float


def measure_memorisation(synthetic: FloatArray, private: FloatArray, test: FloatArray) -> Memorisation:
    """Compare distances of embeddings, float64 ``(images, dimension)`` of finite rows.

    Args:
        test: Others of the same kind; as many as there are private ones are drawn, and the reverse.
    """
    random, count = np.random.default_rng(0), min(len(private), len(test))
    mine, others = (rows[random.permutation(len(rows))[:count]] for rows in (private, test))
    to_private, to_test = nearest(synthetic, mine), nearest(synthetic, others)
    typical = float(np.median(nearest(test, private)))
    copies = np.flatnonzero(nearest(synthetic, private) < COPY_SHARE * typical)
    nearer = float((to_private < to_test).mean())
    ratio = np.median(to_private / np.maximum(to_test, np.finfo(np.float64).tiny))
    return Memorisation(nearer, tuple(map(int, copies)), float(ratio))
