"""Measure how close a synthetic set lies to real data in an encoder's space; every number here is private.

Distances are taken some rows at a time: no matrix of all pairs is ever there.

All of it is biased for few images (a Fréchet distance over 10 shots says little), so figures are
comparable only between sets of equal size on the same encoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

FloatArray = NDArray[np.float64]
PAIRS = 2**23
"""Most pairs that are looked at together: 64 MiB of them."""


def distances(rows: FloatArray, others: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Distances of some rows to all others, float64 ``(rows of the block, others)``, block after block.

    Args:
        rows: float64 ``(rows, dimension)``.
        others: float64 ``(others, dimension)``, not empty.
    """
    step = max(1, PAIRS // len(others))
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        yield block, cdist(rows[block], others)


def nearest(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Distance of each row to the nearest of others, float64 ``(rows,)``."""
    return np.concatenate([gaps.min(axis=1) for _, gaps in distances(rows, others)])


def radii(rows: FloatArray, rank: int) -> FloatArray:
    """Distance of each row to its neighbour of a rank among the rows, float64 ``(rows,)``; rank 0 is the row itself."""
    found = np.empty(len(rows))
    for block, gaps in distances(rows, rows):
        found[block] = np.partition(gaps, rank, axis=1)[:, rank]  # copied: a view would keep the whole block
    return found


def inside(points: FloatArray, centres: FloatArray, reach: FloatArray) -> NDArray[np.bool_]:
    """Mark the points that lie within the reach of some centre, bool ``(points,)``.

    Args:
        points: float64 ``(points, dimension)``.
        centres: float64 ``(centres, dimension)``.
        reach: float64 ``(centres,)``.
    """
    return np.concatenate([(gaps <= reach).any(axis=1) for _, gaps in distances(points, centres)])


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


@dataclass(frozen=True, repr=False)
class Closeness:
    """A synthetic set beside a real one, through one encoder; private.

    Attributes:
        frechet: Squared Fréchet distance of two Gaussians (FID on the encoder at hand), >= 0.
        precision: Share of synthetic images inside the real set's support, 0..1.
        recall: Share of real images inside the synthetic set's support, 0..1.
        few: Whether either set is too small for the figures to say much by themselves.
    """

    frechet: float
    precision: float
    recall: float
    few: bool

    def to_json(self) -> dict[str, object]:
        """For a private file or the owner's screen."""
        return asdict(self)


def measure_closeness(one: FloatArray, other: FloatArray) -> Closeness:
    """Compare embeddings of synthetic images with those of real ones, float64 ``(images, dimension)`` of finite rows.

    Args:
        one: Of the synthetic images, at least ``FEWEST``.
        other: Of the real ones, as many or more.

    Source: Heusel et al. 2017 (Fréchet), Kynkäänniemi et al. 2019 with 3 neighbours (precision, recall).
    """
    return Closeness(
        frechet=_frechet(one, other),
        precision=float(inside(one, other, radii(other, _NEIGHBOURS)).mean()),
        recall=float(inside(other, one, radii(one, _NEIGHBOURS)).mean()),
        few=min(len(one), len(other)) < FEW,
    )


COPY_SHARE = 0.1
"""A synthetic image is called a copy if it lies within this share of how far a test image typically lies."""


@dataclass(frozen=True, repr=False)
class Memorisation:
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
