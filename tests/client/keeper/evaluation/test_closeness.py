"""How near a dataset is to real data, and to private data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from pcevolve.keeper.evaluation import closeness as blocks
from pcevolve.keeper.evaluation.closeness import measure_closeness, measure_memorisation


def rows(count: int, seed: int, shift: float = 0.0, width: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)) + shift


@pytest.mark.parametrize("pairs", [1, 7, 100, 1000])
def test_every_figure_is_the_same_however_few_pairs_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, pairs: int
):
    made, private, test = rows(33, 0, 0.3), rows(21, 1), rows(40, 2)
    whole = measure_closeness(made, test).to_json()
    copies = measure_memorisation(made, private, test)
    monkeypatch.setattr(blocks, "PAIRS", pairs)
    assert measure_closeness(made, test).to_json() == pytest.approx(whole, rel=1e-12)
    assert measure_memorisation(made, private, test) == copies


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
    assert measure_closeness(one, other).frechet == pytest.approx(expected, rel=1e-3)


def test_collapsed_set_has_precision_without_recall():
    real = cloud(7, count=200)
    collapsed = real[0] + 1e-3 * cloud(8, count=50)
    result = measure_closeness(collapsed, real)
    assert result.precision == 1.0
    assert result.recall < 0.05


def test_a_planted_copy_is_called_one_and_nothing_else_is():
    private, test, made = rows(40, 0), rows(60, 1), rows(50, 2)
    assert measure_memorisation(made, private, test).copies == ()
    made[[3, 17]] = private[[5, 6]] + 1e-3
    found = measure_memorisation(made, private, test)
    assert found.copies == (3, 17)


def test_without_memorisation_half_are_nearer_and_with_it_more():
    honest = [
        measure_memorisation(rows(60, 3 * k), rows(40, 3 * k + 1), rows(90, 3 * k + 2)) for k in range(20)
    ]
    assert np.mean([each.closer for each in honest]) == pytest.approx(0.5, abs=0.08)
    private = rows(40, 1)
    near = np.repeat(private, 2, axis=0) + 0.6 * rows(80, 0)
    found = measure_memorisation(near, private, rows(90, 2))
    assert (found.closer > 0.8, found.ratio < 0.8) == (True, True)
