"""The bound is never wrong more often than it says, and close to the truth when the truth can be seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pcevolve_client.privacy_audit.bound import at_least, at_most, epsilon_bound, epsilon_bounds

RUNS = 2000


def limits(hits: int, runs: int, alpha: float) -> tuple[float, float]:
    counts = np.array([hits])
    return float(at_least(counts, runs, alpha)[0]), float(at_most(counts, runs, alpha)[0])


@pytest.mark.parametrize("hits", [0, 1, 7, 50, 99, 100])
def test_the_limits_are_those_of_clopper_and_pearson(hits):
    interval = stats.binomtest(hits, 100).proportion_ci(confidence_level=0.95, method="exact")
    assert limits(hits, 100, 0.025) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("probability", [0.003, 0.2, 0.5, 0.99])
def test_each_limit_is_wrong_no_more_often_than_alpha(probability):
    hits = np.arange(101)
    weights = stats.binom(100, probability).pmf(hits)
    assert weights[at_least(hits, 100, 0.025) > probability].sum() <= 0.025
    assert weights[at_most(hits, 100, 0.025) < probability].sum() <= 0.025


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_refuted_no_more_often_than_the_confidence_allows(epsilon):
    # Randomised response is the hardest case: its event attains the ε that it claims.
    generator = np.random.default_rng(3)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    likely = generator.binomial(RUNS, truth, size=4000)
    rare = generator.binomial(RUNS, 1 - truth, size=4000)
    bounds = epsilon_bounds(likely, rare, RUNS, 0.0, 0.95)
    assert (bounds > epsilon).mean() <= 0.05
    assert np.median(bounds) > 0.7 * epsilon - 0.1


def test_events_explained_by_delta_prove_nothing():
    assert epsilon_bound(100, 0, RUNS, delta=0.0, confidence=0.95) > 2
    assert epsilon_bound(100, 0, RUNS, delta=0.1, confidence=0.95) == 0


@pytest.mark.parametrize(("likely", "rare"), [(0, 0), (0, RUNS), (RUNS, RUNS), (5, 5)])
def test_equal_frequencies_prove_nothing(likely, rare):
    assert epsilon_bound(likely, rare, RUNS, 0.0, 0.95) == 0


def test_more_confidence_proves_less():
    bounds = [epsilon_bound(900, 300, RUNS, 0.0, confidence) for confidence in (0.95, 0.99, 0.999)]
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) == 3
