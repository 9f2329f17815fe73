"""The published utility, and its privacy by enumeration of neighbouring datasets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pcevolve_client.private.utilities import distances, pcevolve

EPSILON = 1.0
POINTS = (-2.0, -0.5, 1.0, 3.0)
# A hostile pool: many copies of one candidate bring the worst case close to the bound.
CANDIDATES = np.array([[-1.5], [0.4], [np.nan]] + [[2.0]] * 20)


def test_equation_3_on_a_case_worked_by_hand():
    # own centre 0, other centre 10; the candidate at 7 is nearer to the other class and fails the filter
    distance = distances(np.array([[1.0], [2.0], [3.0], [7.0]]), np.array([[0.0], [10.0]]))
    assert pcevolve(distance, own=0) == pytest.approx([1.0, math.exp(-5), math.exp(-10), 0.0])


def test_a_tie_fails_the_filter():
    assert pcevolve(distances(np.array([[5.0]]), np.array([[0.0], [10.0]])), own=0).tolist() == [0.0]


def test_one_passing_candidate_has_utility_one():
    distance = distances(np.array([[1.0], [9.0]]), np.array([[0.0], [10.0]]))
    assert pcevolve(distance, own=0).tolist() == [1.0, 0.0]


def test_if_none_passes_all_are_equal():
    distance = distances(np.array([[8.0], [9.0]]), np.array([[0.0], [10.0]]))
    assert pcevolve(distance, own=0).tolist() == [0.0, 0.0]


@given(
    hnp.arrays(np.float64, (7, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
    hnp.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)),
    st.integers(0, 3),
)
def test_utility_is_in_the_unit_interval_for_any_candidates_and_any_data(candidates, centres, own):
    utility = pcevolve(distances(candidates, centres), own)
    assert np.all((utility >= 0) & (utility <= 1))
    assert np.all(utility[~np.isfinite(candidates).all(axis=1)] == 0)


def centres(records: tuple[tuple[float, int], ...]) -> np.ndarray | None:
    classes = [[x for x, y in records if y == c] for c in (0, 1)]
    return np.array([[np.mean(each)] for each in classes]) if all(classes) else None


def log_odds(records, own: int, scale: float = 1.0) -> np.ndarray | None:
    centre = centres(records)
    if centre is None:
        return None
    utility = scale * pcevolve(distances(CANDIDATES, centre), own)
    scores = EPSILON * utility / 2
    return scores - np.log(np.exp(scores).sum())


RECORDS = tuple(itertools.product(POINTS, (0, 1)))
DATASETS = [
    tuple(sorted(d)) for size in (2, 3, 4) for d in itertools.combinations_with_replacement(RECORDS, size)
]


def worst_ratio(scale: float = 1.0) -> float:
    """Largest log-probability ratio over all neighbouring datasets, both relations, both classes."""
    worst = 0.0
    odds = {(d, own): log_odds(d, own, scale) for d in DATASETS for own in (0, 1)}
    for dataset in DATASETS:
        for place in range(len(dataset)):
            rest = dataset[:place] + dataset[place + 1 :]
            neighbours = [tuple(sorted((*rest, record))) for record in RECORDS]  # replace-one
            neighbours += [rest] if len(rest) >= 2 else []  # add-remove
            for neighbour, own in itertools.product(neighbours, (0, 1)):
                mine, theirs = odds[dataset, own], odds[neighbour, own]
                if mine is not None and theirs is not None:
                    worst = max(worst, float(np.abs(mine - theirs).max()))
    return worst


def test_no_pair_of_neighbouring_datasets_can_be_told_apart_by_more_than_epsilon():
    assert 0 < worst_ratio() <= EPSILON + 1e-12


def test_the_enumeration_notices_a_sensitivity_that_is_understated_by_30_percent():
    assert worst_ratio(scale=1 / 0.7) > EPSILON
