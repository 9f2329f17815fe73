"""The draws: right distribution, right cost, and a test that would notice a wrong one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from pcevolve_client.budget.accounting import below
from pcevolve_client.budget.mechanisms import ExponentialMechanism, InsecureSeeded, UniformChoice, clamped

EPSILON = Fraction(3)
UTILITY = np.array([1.0, 0.6, 0.3, 0.0, 0.0])
DRAWS = 20_000
ALPHA = 1e-4


def expected(epsilon: float) -> np.ndarray:
    weights = np.exp(epsilon * UTILITY / 2)
    return weights / weights.sum()


def p_value(counts: np.ndarray, epsilon: float) -> float:
    return float(stats.chisquare(counts, counts.sum() * expected(epsilon)).pvalue)


def counted(mechanism, epsilon: Fraction = EPSILON) -> np.ndarray:
    draws = [mechanism.choose(f"query {k}", UTILITY, epsilon) for k in range(DRAWS)]
    return np.bincount(draws, minlength=len(UTILITY))


@pytest.mark.parametrize(
    "mechanism", [ExponentialMechanism(), InsecureSeeded(5, ExponentialMechanism())], ids=["os", "seeded"]
)
def test_candidates_are_drawn_in_proportion_to_exp_of_half_epsilon_times_utility(mechanism):
    assert p_value(counted(mechanism), float(EPSILON)) > ALPHA


@pytest.mark.parametrize("factor", [Fraction(13, 10), Fraction(7, 10)])
def test_the_test_rejects_a_mechanism_that_is_30_percent_off(factor):
    assert p_value(counted(ExponentialMechanism(), EPSILON * factor), float(EPSILON)) < ALPHA


def test_the_uniform_choice_ignores_utility():
    counts = counted(UniformChoice())
    assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("epsilon", ["1/7", "1/4", "1", "10"])
def test_opendp_agrees_on_the_cost(epsilon):
    # The exponential mechanism is epsilon-bounded-range, hence epsilon**2/8-zCDP (Dong et al. 2020).
    cost = ExponentialMechanism.measurement(Fraction(epsilon)).map(1.0)
    assert cost == pytest.approx(float(Fraction(epsilon)) ** 2 / 8, rel=1e-9)
    assert cost <= float(Fraction(epsilon)) ** 2 / 8 * (1 + 1e-12)


def test_seeded_noise_repeats_and_differs_by_query():
    mechanism = InsecureSeeded(1, ExponentialMechanism())
    again = InsecureSeeded(1, ExponentialMechanism())
    first = [mechanism.choose(f"q{k}", UTILITY, EPSILON) for k in range(50)]
    assert first == [again.choose(f"q{k}", UTILITY, EPSILON) for k in range(50)]
    assert len(set(first)) > 1


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_any_utility_is_forced_into_the_unit_interval_and_a_draw_works(utility):
    bounded = clamped(utility)
    assert np.all((bounded >= 0) & (bounded <= 1))
    assert np.all(bounded[np.isnan(utility)] == 0)
    assert 0 <= ExponentialMechanism().choose("q", utility, EPSILON) < len(utility)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100))
def test_rounding_never_spends_more_than_was_paid(epsilon):
    assert Fraction(below(epsilon)) <= epsilon
    assert math.isclose(below(epsilon), float(epsilon), rel_tol=1e-15)
