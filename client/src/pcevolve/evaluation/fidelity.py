"""How close a synthetic set lies to real data in an encoder's space; every number here is private.

All of it is biased for few images (a Fréchet distance over 10 shots says little), so figures are
comparable only between sets of equal size on the same encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve.evaluation.blocks import inside, radii

_NEIGHBOURS = 3


@dataclass(frozen=True, repr=False)
class Fidelity:
    """Distance and overlap of a synthetic and a real set; private.

    Attributes:
        frechet: Squared Fréchet distance of two Gaussians (FID on the encoder at hand), >= 0.
        precision: Share of synthetic images inside the real set's support, 0..1.
        recall: Share of real images inside the synthetic set's support, 0..1.
    """

    frechet: float
    precision: float
    recall: float

    def __repr__(self) -> str:
        return "Fidelity"

    def to_json(self) -> dict[str, object]:
        """Return the three figures for a private file or the owner's screen."""
        return {"frechet": self.frechet, "precision": self.precision, "recall": self.recall}


def fidelity(synthetic: NDArray[np.float64], real: NDArray[np.float64]) -> Fidelity:
    """Compare two sets of embeddings; rows that are not finite are left out.

    Args:
        synthetic: float64 ``(images, dimension)``.
        real: float64 ``(images, dimension)``, held out from the evolution.

    Raises:
        DataError: A set has fewer than five usable rows.

    Source: Heusel et al. 2017 (Fréchet); Kynkäänniemi et al. 2019 with 3 neighbours.
    """
    one, other = _usable(synthetic), _usable(real)
    inside_real, _ = inside(one, other, radii(other, _NEIGHBOURS))
    inside_synthetic, _ = inside(other, one, radii(one, _NEIGHBOURS))
    return Fidelity(
        frechet=_frechet(one, other),
        precision=float((inside_real > 0).mean()),
        recall=float((inside_synthetic > 0).mean()),
    )


def _usable(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = rows[np.isfinite(rows).all(axis=1)]
    if len(kept) < _NEIGHBOURS + 2:
        raise DataError(f"fidelity needs {_NEIGHBOURS + 2} or more usable images in each set")
    return kept


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
