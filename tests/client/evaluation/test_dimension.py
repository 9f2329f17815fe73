"""The estimate finds the dimension of what it is known of, whatever it lies in."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.errors import DataError
from pcevolve.evaluation.closeness import intrinsic_dimension


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_flat_set_has_the_dimension_of_its_plane(dimension: int, seed: int):
    random = np.random.default_rng(seed)
    points = random.uniform(size=(3000, dimension)) @ random.normal(size=(dimension, 64))
    assert 0.8 * dimension < intrinsic_dimension(points) < 1.1 * dimension


def test_neither_scale_nor_copies_nor_missing_rows_matter():
    random = np.random.default_rng(0)
    points = random.normal(size=(500, 3))
    found = intrinsic_dimension(points)
    assert intrinsic_dimension(points * 1e6) == pytest.approx(found)
    assert intrinsic_dimension(
        np.concatenate([points, points[:100], np.full((3, 3), np.nan)])
    ) == pytest.approx(found)


def test_too_few_points_have_none():
    with pytest.raises(DataError, match="at least four"):
        intrinsic_dimension(np.zeros((100, 3)))
