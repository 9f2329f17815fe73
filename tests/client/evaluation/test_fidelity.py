"""Fréchet distance against closed forms, precision and recall against cases with known answers."""

import numpy as np
import pytest
from scipy import linalg

from pcevolve.errors import DataError
from pcevolve.evaluation.closeness import Fidelity, fidelity


def cloud(seed: int, count=60, dimension=5, scale=1.0):
    random = np.random.default_rng(seed)
    return scale * random.normal(size=(count, dimension)) @ random.normal(size=(dimension, dimension))


@pytest.mark.parametrize(("count", "dimension"), [(60, 5), (20, 40)])
def test_frechet_distance_equals_the_textbook_formula(count, dimension):
    one, other = cloud(1, count, dimension), cloud(2, count + 7, dimension)
    covariances = [np.cov(rows, rowvar=False) for rows in (one, other)]
    root = linalg.sqrtm(covariances[0] @ covariances[1] + 1e-12 * np.eye(dimension)).real
    shift = one.mean(axis=0) - other.mean(axis=0)
    expected = shift @ shift + np.trace(covariances[0] + covariances[1] - 2 * root)
    assert fidelity(one, other).frechet == pytest.approx(expected, rel=1e-3)


def test_frechet_distance_of_a_shifted_copy_is_the_squared_shift():
    rows = cloud(3)
    assert fidelity(rows + 2.0, rows).frechet == pytest.approx(5 * 4.0)


def test_set_compared_with_itself_is_perfect():
    result = fidelity(cloud(4), cloud(4))
    assert result.frechet == pytest.approx(0, abs=1e-9)
    assert (result.precision, result.recall) == (1.0, 1.0)


def test_far_sets_do_not_overlap():
    result = fidelity(cloud(5) + 1e3, cloud(6))
    assert (result.precision, result.recall) == (0.0, 0.0)


def test_collapsed_set_has_precision_without_recall():
    real = cloud(7, count=200)
    collapsed = real[0] + 1e-3 * cloud(8, count=50)
    result = fidelity(collapsed, real)
    assert result.precision == 1.0
    assert result.recall < 0.05


def test_unusable_rows_are_left_out():
    rows = cloud(9)
    with_gaps = np.vstack([rows, np.full((2, 5), np.nan)])
    assert fidelity(with_gaps, cloud(10)) == fidelity(rows, cloud(10))


def test_too_few_images_are_refused():
    with pytest.raises(DataError, match="fidelity needs 5 or more usable images in each set"):
        fidelity(cloud(11, count=4), cloud(12))


def test_figures_are_not_in_the_repr():
    assert repr(Fidelity(1.0, 0.5, 0.25)) == "Fidelity"
