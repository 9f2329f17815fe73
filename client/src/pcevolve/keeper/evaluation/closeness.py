"""Measure how close a synthetic set is to real data in an encoder's space; every number here is private.

Distances are computed in blocks of rows, never as a matrix of all pairs. All figures are biased for small
sets: a Fréchet distance over 10 shots means little. Compare figures only between sets of equal size on the
same encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from pcevolve.keeper.evaluation.judge import Features, find_usable

FloatArray = NDArray[np.float64]
PAIRS = 2**23
"""Largest number of pairs in one block, which takes 64 MiB."""


def distances(rows: FloatArray, others: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the distances from rows to all others, block by block, float64 ``(rows of the block, others)``.

    Args:
        rows: float64 ``(rows, dimension)``.
        others: float64 ``(others, dimension)``, not empty.
    """
    step = max(1, PAIRS // len(others))
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        yield block, cdist(rows[block], others)


def nearest(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return the distance of each row to the nearest of the others, float64 ``(rows,)``."""
    return np.concatenate([gaps.min(axis=1) for _, gaps in distances(rows, others)])


def radii(rows: FloatArray, rank: int) -> FloatArray:
    """Return the distance of each row to its ``rank``-th neighbour among the rows, float64 ``(rows,)``.

    Rank 0 is the row itself.
    """
    found = np.empty(len(rows))
    for block, gaps in distances(rows, rows):
        found[block] = np.partition(gaps, rank, axis=1)[:, rank]  # copied: a view would keep the whole block
    return found


def inside(points: FloatArray, centres: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
    """Mark the points within the radius of at least one centre, bool ``(points,)``.

    Args:
        points: float64 ``(points, dimension)``.
        centres: float64 ``(centres, dimension)``.
        radius: Radius of each centre, float64 ``(centres,)``.
    """
    return np.concatenate([(gaps <= radius).any(axis=1) for _, gaps in distances(points, centres)])


_NEIGHBOURS = 3  # as in the paper on precision and recall
FEWEST = _NEIGHBOURS + 2
"""Fewest usable images for which a distance is computed."""


def _frechet(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the squared Fréchet distance; with S = RᵀR, tr (S₁S₂)^½ is the sum of singular values of R₁R₂ᵀ."""
    shift = one.mean(axis=0) - other.mean(axis=0)
    first, second = _root(one), _root(other)
    overlap = np.linalg.svd(first @ second.T, compute_uv=False).sum()
    # Rounding may make the difference slightly negative.
    return max(float(shift @ shift + (first**2).sum() + (second**2).sum() - 2 * overlap), 0.0)


def _root(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R ``(min(images, dimension), dimension)`` with RᵀR the unbiased covariance of the rows."""
    centred = (rows - rows.mean(axis=0)) / np.sqrt(len(rows) - 1)
    return np.linalg.qr(centred).R


FEW = 1000
"""Number of images below which distances between distributions mean little; the papers use 10,000 to 50,000."""


@dataclass(frozen=True, repr=False)
class Closeness:
    """A synthetic set compared with a real one, through one encoder; private.

    Attributes:
        frechet: Squared Fréchet distance of two Gaussians (FID on this encoder), >= 0.
        precision: Share of synthetic images inside the real set's support, 0..1.
        recall: Share of real images inside the synthetic set's support, 0..1.
        few: Whether either set is too small for its figures to mean much by themselves.
    """

    frechet: float
    precision: float
    recall: float
    few: bool

    def to_json(self) -> dict[str, object]:
        """Return values for a private file or the owner's screen."""
        return asdict(self)


def measure_closeness(one: FloatArray, other: FloatArray) -> Closeness:
    """Compare embeddings of synthetic images with those of real ones, float64 ``(images, dimension)``, finite.

    Args:
        one: Embeddings of the synthetic images, at least ``FEWEST``.
        other: Embeddings of the real images, at least ``FEWEST``.

    Source: Heusel et al. 2017 (Fréchet), Kynkäänniemi et al. 2019 with 3 neighbours (precision, recall).
    """
    return Closeness(
        frechet=_frechet(one, other),
        precision=float(inside(one, other, radii(other, _NEIGHBOURS)).mean()),
        recall=float(inside(other, one, radii(one, _NEIGHBOURS)).mean()),
        few=min(len(one), len(other)) < FEW,
    )


COPY_SHARE = 0.1
"""A synthetic image that is closer to a private image than this counts as a copy.

The unit is the median distance from a test image to its nearest private image.
"""


@dataclass(frozen=True, repr=False)
class Memorisation:
    """Distances of synthetic images to private and to test images; private.

    Attributes:
        closer: Share of the synthetic images that are nearer to their nearest private image than to their
            nearest test image, among as many private as test images. Without memorisation the share is
            about one half. With ten shots, chance alone can move the share far from one half.
        copies: Indices of the synthetic images that count as copies of private ones.
        ratio: Median, over synthetic images, of the distance to the nearest private image divided by the
            distance to the nearest test image.
    """

    closer: float
    copies: tuple[int, ...]
    ratio: float


def measure_memorisation(synthetic: FloatArray, private: FloatArray, test: FloatArray) -> Memorisation:
    """Compare distances of embeddings, float64 ``(images, dimension)``, finite.

    Args:
        test: Embeddings of other images of the same kind. The larger of the sets ``private`` and ``test``
            is subsampled to the size of the smaller one.
    """
    # A fixed seed, so that the figures are the same each time; this draw protects nothing.
    random, count = np.random.default_rng(0), min(len(private), len(test))
    mine, others = (rows[random.permutation(len(rows))[:count]] for rows in (private, test))
    to_private, to_test = nearest(synthetic, mine), nearest(synthetic, others)
    typical = float(np.median(nearest(test, private)))
    copies = np.flatnonzero(nearest(synthetic, private) < COPY_SHARE * typical)
    nearer = float((to_private < to_test).mean())
    ratio = np.median(to_private / np.maximum(to_test, np.finfo(np.float64).tiny))
    return Memorisation(nearer, tuple(map(int, copies)), float(ratio))


def describe_embeddings(
    made: Features,
    control: Features | None,
    private: Features | None,
    real: Features,
    names: Sequence[str],
) -> dict[str, object]:
    """Measure a dataset and its control against real data, and find the dataset's copies of private data.

    Args:
        made: Embeddings of the dataset, ``(items, dimension)``; rows of unusable items are not finite.
        names: Names of the dataset's items.
    """
    found: dict[str, object] = {}
    test = _drop_unusable(real)
    for name, features in (("distances", made), ("control_distances", control)):
        if features is None:
            continue
        one = _drop_unusable(features)
        if min(len(one), len(test)) >= FEWEST:  # a distance needs this number
            found[name] = measure_closeness(one, test).to_json()
    if private is not None:
        result = measure_memorisation(_drop_unusable(made), _drop_unusable(private), test)
        usable = np.flatnonzero(find_usable(made))
        found["memorisation"] = {
            "closer_to_private": result.closer,
            "median_ratio": result.ratio,
            "copies": [names[usable[place]] for place in result.copies],
        }
    return found


def _drop_unusable(features: Features) -> FloatArray:
    return np.asarray(features[find_usable(features)], dtype=np.float64)
