"""How many numbers it takes to tell images of a set apart, where they lie: the intrinsic dimension of embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pcevolve.errors import DataError

NEIGHBOURS = 20


def intrinsic_dimension(embeddings: NDArray[np.float64], neighbours: int = NEIGHBOURS) -> float:
    """Maximum-likelihood estimate from the distances to each point's nearest neighbours; private for private images.

    The inverse is averaged over the points, which makes it the likelihood of all of them together. Rows that are
    equal to another are left out, and estimates of few or curved points come out low.

    Args:
        embeddings: float64 ``(images, d)``; rows that are not finite are left out.
        neighbours: Of each point; fewer where there are fewer points.

    Raises:
        DataError: Fewer than four different rows.

    Source: Levina & Bickel 2004, "Maximum Likelihood Estimation of Intrinsic Dimension"; MacKay & Ghahramani's mean.
    """
    rows = np.unique(embeddings[np.isfinite(embeddings).all(axis=1)], axis=0)
    if len(rows) < 4:
        raise DataError(f"an intrinsic dimension takes at least four different images, not {len(rows)}")
    count = min(neighbours, len(rows) - 1)
    distances, _ = cKDTree(rows).query(rows, count + 1)  # the nearest is the point itself
    logs = np.log(distances[:, -1:] / distances[:, 1:-1])
    return float((count - 2) / logs.sum(axis=1).mean())
