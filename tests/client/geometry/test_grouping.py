"""Centres of groups: the same on every machine, and one in each group that there is."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.geometry.distances import find_centres
from support.examples import examples

SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=examples(60))


@given(SEEDS, st.integers(1, 10), st.integers(2, 8))
@QUICK
def test_every_group_that_there_is_has_its_mean(seed: int, count: int, each: int):
    apart = np.repeat(100.0 * np.eye(count, 12), each, axis=0)
    points = apart + np.random.default_rng(seed).normal(size=apart.shape)
    means = points.reshape(count, each, 12).mean(axis=1)
    assert np.allclose(find_centres(points, count), means, atol=1e-3)


@given(SEEDS)
@QUICK
def test_the_order_in_which_a_machine_adds_up_coordinates_changes_nothing(seed: int):
    random = np.random.default_rng(seed)
    points = random.normal(size=(80, 50)) * np.exp(random.normal(size=50))
    order = random.permutation(50)
    assert np.array_equal(find_centres(points, 7)[:, order], find_centres(points[:, order], 7))


def test_centres_come_to_rest_nearer_to_the_points_than_where_they_began():
    points = np.random.default_rng(1).normal(size=(300, 2))

    def spread(found: np.ndarray) -> float:
        return float(np.square(points[:, None] - found).sum(axis=2).min(axis=1).sum())

    assert spread(find_centres(points, 10)) < 0.8 * spread(points[::30])
