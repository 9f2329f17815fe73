"""More ways to say how close two sets of embeddings lie; every number here is private, and biased for few images."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from pcevolve.evaluation.blocks import inside, kernel_sum, radii
from pcevolve.evaluation.fidelity import Fidelity, fidelity

FEW = 1000
"""Images below which distances between distributions say little; the papers take ten to fifty thousand."""
_NEIGHBOURS = 5
_CMMD_SIGMA, _CMMD_SCALE = 10.0, 1000.0

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Closeness:
    """A synthetic set beside a real one, through one encoder; private.

    Attributes:
        fidelity: Fréchet distance, precision, recall.
        kid: Kernel distance, unbiased: may be negative.
        cmmd: Distance of normalised embeddings under a Gaussian kernel, times 1000; None but for CLIP.
        density: Synthetic images in the neighbourhoods of real ones, 1 for equal sets.
        coverage: Share of real images with a synthetic one in their neighbourhood.
        few: Whether a set is smaller than ``FEW``.
    """

    fidelity: Fidelity
    kid: float
    cmmd: float | None
    density: float
    coverage: float
    few: bool

    def __repr__(self) -> str:
        return "Closeness"

    def to_json(self) -> dict[str, object]:
        """For a private file or the owner's screen."""
        rest = {name: value for name, value in asdict(self).items() if name != "fidelity"}
        return {**self.fidelity.to_json(), **rest}


def closeness(synthetic: FloatArray, real: FloatArray, *, clip: bool = False) -> Closeness:
    """Compare two sets of embeddings, float64 ``(images, dimension)``; rows that are not finite are left out.

    Args:
        synthetic: Of the dataset.
        real: Held out from it.
        clip: Whether the encoder is a CLIP, for which CMMD is defined.

    Raises:
        DataError: A set has fewer than five usable rows.

    Source: Binkowski et al. 2018 (KID), Jayasumana et al. 2024 (CMMD), Naeem et al. 2020 (density, coverage, k = 5).
    """
    one, other = (rows[np.isfinite(rows).all(axis=1)] for rows in (synthetic, real))
    found = fidelity(one, other)
    rank = min(_NEIGHBOURS, len(other) - 1)
    centres, reached = inside(one, other, radii(other, rank))
    return Closeness(
        fidelity=found,
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
