"""The learnt event finds what two datasets' releases differ in; the bound is never wrong more often than it says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pcevolve.auditing.dp_audit.bound import (
    AnyMechanism,
    GaussianMechanism,
    Outcomes,
    at_least,
    at_most,
    find_best_distinguisher,
)
from pcevolve.public.dp.accountants import GDP
from pcevolve.public.privacy import Event

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


RELEASES = 8000
INFERENCE = AnyMechanism(delta=0.0, confidence=0.95)


class Releases:
    """Makes up what many runs released."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(11)

    def draws(self, *probabilities: list[float]) -> Outcomes:
        """Independent draws, one per place."""
        columns = [self._generator.choice(len(each), size=RELEASES, p=each) for each in probabilities]
        return make_outcomes(chosen=np.stack(columns, axis=1))

    def normal(self, mean: list[float]) -> Outcomes:
        return make_outcomes(noisy=self._generator.normal(mean, size=(RELEASES, len(mean))))


@pytest.fixture
def releases() -> Releases:
    return Releases()


def make_outcomes(chosen: np.ndarray | None = None, noisy: np.ndarray | None = None) -> Outcomes:
    nothing = np.zeros((RELEASES, 0))
    return Outcomes(
        nothing.astype(np.int64) if chosen is None else chosen, nothing if noisy is None else noisy
    )


def bound(first: Outcomes, second: Outcomes) -> float:
    """As an audit does: learnt on one half, counted on the other."""
    (learn_first, test_first), (learn_second, test_second) = first.halves(), second.halves()
    event = find_best_distinguisher(learn_first, learn_second, INFERENCE)
    counts = event.count(test_first), event.count(test_second)
    likely, rare = counts if event.likelier == "first" else counts[::-1]
    return INFERENCE.epsilon(likely, rare, RELEASES // 2)


def test_a_rare_index_is_found_on_whichever_dataset_it_is_likelier(releases):
    often, seldom = [0.3, 0.3, 0.4], [0.05, 0.45, 0.5]
    for first, second in ((often, seldom), (seldom, often)):
        assert bound(releases.draws(first), releases.draws(second)) == pytest.approx(
            math.log(0.3 / 0.05), rel=0.25
        )


def test_evidence_of_several_draws_adds_up(releases):
    high, low = [0.6, 0.4], [0.4, 0.6]
    one, four = (bound(releases.draws(*[high] * n), releases.draws(*[low] * n)) for n in (1, 4))
    assert one < math.log(1.5) < 2 * math.log(1.5) < four < 4 * math.log(1.5)


def test_a_shift_of_noisy_numbers_is_found_in_any_direction(releases):
    flat = bound(releases.normal([0.0, 0.0]), releases.normal([1.0, 0.0]))
    tilted = bound(releases.normal([0.0, 0.0]), releases.normal([math.sqrt(0.5), -math.sqrt(0.5)]))
    assert flat == pytest.approx(tilted, rel=0.3)
    assert tilted > 1.5


def test_a_number_without_noise_decides_alone_if_it_differs_and_says_nothing_if_not(releases):
    noisy = releases.normal([0.0, 0.0]).noisy
    constant, different = noisy.copy(), noisy.copy()
    constant[:, 1], different[:, 1] = 3.0, 3.001
    assert bound(make_outcomes(noisy=constant), make_outcomes(noisy=constant)) < 0.2
    assert bound(make_outcomes(noisy=constant), make_outcomes(noisy=different)) > 6


def test_no_run_is_in_both_halves():
    outcomes = make_outcomes(chosen=np.arange(RELEASES)[:, None])
    learn, test = outcomes.halves()
    assert len(learn) == len(test) == RELEASES // 2
    assert not set(learn.chosen.ravel()) & set(test.chosen.ravel())
