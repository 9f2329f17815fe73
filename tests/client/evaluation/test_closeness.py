"""Distances between sets: golden values, what they rise with, and copies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pcevolve.evaluation.closeness import closeness
from pcevolve.evaluation.memorisation import memorisation


def rows(count: int, seed: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 6)) + shift


def test_kid_is_the_unbiased_estimate_of_its_definition():
    one, other = rows(7, 0), rows(9, 1, 0.5)

    def kernel(a, b):
        return (a @ b / 6 + 1) ** 3

    within = [kernel(a, b) for a, b in itertools.permutations(one, 2)]
    among = [kernel(a, b) for a, b in itertools.permutations(other, 2)]
    across = [kernel(a, b) for a in one for b in other]
    expected = np.mean(within) + np.mean(among) - 2 * np.mean(across)
    assert closeness(one, other).kid == pytest.approx(expected)


def test_kid_of_one_distribution_is_zero_on_average():
    values = [closeness(rows(30, 2 * k), rows(30, 2 * k + 1)).kid for k in range(40)]
    assert abs(np.mean(values)) < 4 * np.std(values) / 40**0.5
    assert closeness(rows(30, 0), rows(30, 1, 1.0)).kid > np.max(values)


def test_cmmd_is_that_of_its_definition_and_for_clip_alone():
    one, other = rows(8, 0), rows(8, 1, 1.0)
    a, b = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))

    def mean(x, y):
        return np.mean([np.exp(-((p - q) ** 2).sum() / 200) for p in x for q in y])

    found = closeness(one, other, clip=True).cmmd
    assert found == pytest.approx(1000 * (mean(a, a) + mean(b, b) - 2 * mean(a, b)))
    assert closeness(one, other).cmmd is None


def test_density_and_coverage_count_neighbourhoods():
    real = np.arange(10.0)[:, None] * np.ones((1, 2))
    near, far = closeness(real + 0.01, real), closeness(real + 100, real)
    assert near.coverage == 1.0
    assert (far.density, far.coverage) == (0.0, 0.0)
    end = closeness(np.full((6, 2), 0.5) + 0.001 * rows(6, 0)[:, :2], real)
    assert end.coverage == pytest.approx(0.4)  # of the line's ten, the first four have the images in reach
    assert end.density == pytest.approx(4 / 5)


def test_few_images_are_said_to_be_few():
    assert closeness(rows(30, 0), rows(30, 1)).few
    assert not closeness(rows(1000, 0), rows(1000, 1)).few


def test_a_planted_copy_is_called_one_and_nothing_else_is():
    private, test, made = rows(40, 0), rows(60, 1), rows(50, 2)
    assert memorisation(made, private, test).copies == ()
    made[[3, 17]] = private[[5, 6]] + 1e-3
    found = memorisation(made, private, test)
    assert found.copies == (3, 17)


def test_without_memorisation_half_are_nearer_and_with_it_more():
    honest = [memorisation(rows(60, 3 * k), rows(40, 3 * k + 1), rows(90, 3 * k + 2)) for k in range(20)]
    assert np.mean([each.closer for each in honest]) == pytest.approx(0.5, abs=0.08)
    private = rows(40, 1)
    near = np.repeat(private, 2, axis=0) + 0.6 * rows(80, 0)
    found = memorisation(near, private, rows(90, 2))
    assert (found.closer > 0.8, found.ratio < 0.8) == (True, True)


def test_results_show_nothing_of_themselves():
    assert repr(closeness(rows(9, 0), rows(9, 1))) == "Closeness"
    assert repr(memorisation(rows(9, 0), rows(9, 1), rows(9, 2))) == "Memorisation"
