"""The bound is never wrong more often than it says, and close to the truth when the truth can be seen."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pcevolve.dp.accountants import GDP
from pcevolve.dp_audit.bound import AnyMechanism, GaussianMechanism, at_least, at_most
from pcevolve.privacy import Event

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
    bounds = AnyMechanism(0.0, 0.95).strengths(likely, rare, RUNS)
    assert (bounds > epsilon).mean() <= 0.05
    assert np.median(bounds) > 0.7 * epsilon - 0.1


@pytest.mark.parametrize("multiplier", [0.4, 1.0, 4.0])
def test_gaussian_noise_is_refuted_no_more_often_than_the_confidence_allows(multiplier):
    generator = np.random.default_rng(4)
    half = (
        0.5 / multiplier
    )  # every threshold attains the GDP that Gaussian noise claims; this is the middle one
    likely, rare = (generator.binomial(RUNS, stats.norm.cdf(sign * half), size=4000) for sign in (1, -1))
    bounds = GaussianMechanism(1e-5, 0.95).strengths(likely, rare, RUNS)
    assert (bounds > 1 / multiplier).mean() <= 0.05
    assert np.median(bounds) > 0.8 / multiplier - 0.1


def test_a_bound_on_gaussian_noise_is_what_the_accountant_charges_for_it():
    mu = float(GaussianMechanism(1e-5, 0.95).strengths(np.array([1200]), np.array([800]), RUNS)[0])
    charged = GDP.epsilon([Event("gaussian", str(Fraction(1 / mu)))], 1e-5)
    assert GaussianMechanism(1e-5, 0.95).epsilon(1200, 800, RUNS) == pytest.approx(charged)


def test_events_explained_by_delta_show_nothing():
    assert AnyMechanism(0.0, 0.95).epsilon(100, 0, RUNS) > 2
    assert AnyMechanism(0.1, 0.95).epsilon(100, 0, RUNS) == 0
