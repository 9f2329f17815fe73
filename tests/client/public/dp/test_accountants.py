"""Costs of events, by our formulas and by two other implementations; never less than the truth."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.combinators import make_fix_delta, make_zCDP_to_approxDP
from scipy.stats import binom

from pcevolve.public.dp.accountants import (
    ACCOUNTANTS,
    GDP,
    PURE,
    RDP,
    ZCDP,
    Accountant,
    above,
    epsilon,
    merge,
    pure_epsilon,
    within,
)
from pcevolve.public.dp.mechanisms import exponential_measurement, gaussian_measurement
from pcevolve.public.privacy import FREE, Budget, Event

every_accountant = pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=lambda each: each.name)
ORDERS = np.concatenate([1 + np.logspace(-3, 0, 100), np.arange(2.25, 64, 0.25), np.logspace(1.8, 5, 200)])

exponentials = st.builds(
    Event,
    st.sampled_from(["exponential", "permute-and-flip"]),
    st.fractions(Fraction(1, 10**4), 50, max_denominator=10**5).map(str),
    st.integers(1, 200),
)
gaussians = st.builds(
    Event,
    st.just("gaussian"),
    st.fractions(Fraction(1, 10), 10**4, max_denominator=10**5).map(str),
    st.integers(1, 200),
)
free = st.sampled_from([FREE, Event("uniform", count=7)])
histories = st.lists(exponentials | gaussians | free, max_size=5)
deltas = st.floats(1e-12, 0.9)


def exponential(eta: object, count: int = 1) -> Event:
    return Event("exponential", str(Fraction(str(eta))), count)


def gaussian(multiplier: object, count: int = 1) -> Event:
    return Event("gaussian", str(Fraction(str(multiplier))), count)


def test_private_evolution_s_cat_experiments_cost_what_the_paper_says():
    # PE, Table of hyperparameters: sigma = 2, T = 13, delta = 1e-3, add-remove
    assert epsilon([gaussian(2, 13)], 1e-3) == pytest.approx(6.62, abs=0.005)


@given(eta=st.fractions(Fraction(1, 1000), 100, max_denominator=1000), count=st.integers(1, 99), delta=deltas)
def test_zcdp_converts_as_bun_and_steinke_do_and_rounds_up(eta, count, delta):
    with localcontext() as context:
        context.prec = 60
        rho = count * (Decimal(eta.numerator) / eta.denominator) ** 2 / 8
        exact = rho + 2 * (rho * -Decimal(delta).ln()).sqrt()
    found = Decimal(ZCDP.epsilon([Event("exponential", str(eta), count)], delta))
    assert exact <= found <= exact * Decimal("1.00000000001")


@pytest.fixture(scope="module")
def theirs():
    """The package dp-accounting; it takes seconds to import, which every worker would pay that looks for tests."""
    import dp_accounting.pld
    import dp_accounting.rdp

    return dp_accounting


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 1e-2])
@pytest.mark.parametrize("multiplier", ["1/10", "1/2", "2", "30"])
def test_gaussian_dp_agrees_with_dp_accounting_s_exact_formula(theirs, multiplier, delta):
    ours = GDP.epsilon([gaussian(multiplier)], delta)
    expected = theirs.get_epsilon_gaussian(float(Fraction(multiplier)), delta)
    assert ours == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("multiplier", "count"), [("1/2", 1), ("2", 13), ("5", 100), ("1/10", 3)])
def test_renyi_accounting_of_gaussian_noise_agrees_with_dp_accounting(theirs, multiplier, count):
    rdp = theirs.rdp.RdpAccountant(orders=ORDERS)
    rdp.compose(theirs.GaussianDpEvent(float(Fraction(multiplier))), count)
    ours = RDP.epsilon([gaussian(multiplier, count)], 1e-5)
    assert ours == pytest.approx(rdp.get_epsilon(1e-5), rel=1e-3)
    assert ours <= rdp.get_epsilon(1e-5) * (1 + 1e-9), "our minimum over the orders is the better one"


@pytest.mark.parametrize("eps", ["1/10", "1", "4"])
@pytest.mark.parametrize("count", [1, 20])
def test_renyi_accounting_of_pure_draws_agrees_with_randomised_response(theirs, eps, count):
    flips = 2 / (1 + math.exp(Fraction(eps)))  # dp-accounting replaces the answer by a random one this often
    rdp = theirs.rdp.RdpAccountant(ORDERS, theirs.NeighboringRelation.REPLACE_ONE)
    rdp.compose(theirs.RandomizedResponseDpEvent(flips, 2), count)
    ours = RDP.epsilon([Event("permute-and-flip", eps, count)], 1e-5)
    assert ours == pytest.approx(rdp.get_epsilon(1e-5), rel=1e-3)


@pytest.mark.parametrize("rate", ["1/20", "1/4", "1"])
def test_an_exponential_draw_costs_no_more_than_opendp_s_own_conversion(rate):
    draw = exponential_measurement(Fraction(rate))  # its map is for a range of 2 rate: no monotone utility
    converted, _ = make_fix_delta(make_zCDP_to_approxDP(draw), 1e-5).map(1.0)
    event = exponential(2 * Fraction(rate))
    rho = draw.map(1.0)
    assert ZCDP.epsilon([event], 1e-5) == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-6)
    assert RDP.epsilon([event], 1e-5) <= converted * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.5, 2.0, 30.0])
def test_gaussian_noise_costs_what_opendp_s_conversion_says_and_less_by_gaussian_dp(sigma):
    theirs, _ = make_fix_delta(make_zCDP_to_approxDP(gaussian_measurement(sigma)), 1e-5).map(1.0)
    assert RDP.epsilon([gaussian(sigma)], 1e-5) == pytest.approx(theirs, rel=1e-2)
    assert GDP.epsilon([gaussian(sigma)], 1e-5) < theirs


def two_outcomes(eta: float, t: float) -> tuple[tuple[float, float, float], ...]:
    """Probabilities (P, Q, loss) of the pair of distributions that spans ``eta`` with log-ratios t and t - eta."""
    q = (1 - math.exp(t - eta)) / (math.exp(t) - math.exp(t - eta))
    return (q * math.exp(t), q, t), ((1 - q) * math.exp(t - eta), 1 - q, t - eta)


def exact_delta(eta: float, t: float, count: int, eps: float) -> float:
    """δ of ``count`` such draws, by the binomial distribution of how often the first outcome comes up."""
    (p, q, up), (_, _, down) = two_outcomes(eta, t)
    hits = np.arange(count + 1)
    losses = hits * up + (count - hits) * down
    gains = binom.pmf(hits, count, p) - np.exp(eps) * binom.pmf(hits, count, q)
    return float(gains[losses > eps].sum())


def adaptive_delta(eta: float, count: int, eps: float, grid: int) -> float:
    """δ against somebody who picks each pair after seeing the outcomes before it."""
    if count == 0:
        return max(0.0, 1 - math.exp(eps))
    pairs = (two_outcomes(eta, eta * k / grid) for k in range(1, grid))
    return max(
        sum(p * adaptive_delta(eta, count - 1, eps - loss, grid) for p, _, loss in pair) for pair in pairs
    )


@given(st.floats(0.01, 8), st.integers(1, 60), st.floats(0.02, 0.98), st.floats(1e-9, 0.3))
def test_no_pair_of_outcomes_leaks_more_than_the_accountants_say(eta, count, place, delta):
    for accountant in (PURE, ZCDP, RDP):
        claimed = accountant.epsilon([Event("exponential", str(Fraction(eta)), count)], delta)
        assert exact_delta(eta, place * eta, count, claimed) <= delta * (1 + 1e-6) + 1e-14


@pytest.mark.parametrize("eta", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_choosing_the_pairs_adaptively_does_not_help_either(eta, delta):
    claimed = epsilon([exponential(eta, 3)], delta)
    assert adaptive_delta(eta, 3, claimed, grid=12) <= delta
    assert adaptive_delta(eta, 3, claimed * 0.5, grid=12) > delta, "the bound is not idle"


@pytest.mark.parametrize(
    "parameter", ["1" + "0" * 300, "1" + "0" * 399, "1/1" + "0" * 300, "1/1" + "0" * 399]
)
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "gaussian"])
@every_accountant
def test_monstrous_parameters_give_a_number_and_no_exception(accountant, mechanism, parameter):
    result = accountant.epsilon([Event(mechanism, parameter, 10**9)], 1e-6)
    assert result >= 0


@given(st.fractions(min_value=0))
def test_rounding_to_a_float_is_upwards(value):
    assert Fraction(above(value)) >= value


@every_accountant
@given(history=histories, more=exponentials | gaussians, delta=deltas)
def test_more_accesses_never_cost_less(accountant: Accountant, history, more, delta):
    before, after = accountant.epsilon(history, delta), accountant.epsilon([*history, more], delta)
    assert after >= before * (1 - 1e-9)


@every_accountant
@given(history=histories, delta=deltas, factor=st.floats(1, 100))
def test_a_larger_delta_never_costs_more(accountant: Accountant, history, delta, factor):
    larger = min(delta * factor, 0.95)
    assert accountant.epsilon(history, larger) <= accountant.epsilon(history, delta) * (1 + 1e-9)


@every_accountant
@given(event=exponentials | gaussians, delta=deltas, size=st.integers(2, 5))
def test_a_group_never_costs_less_than_one_of_its_units(accountant: Accountant, event, delta, size):
    assert accountant.epsilon([event.on_group(size)], delta) >= accountant.epsilon([event], delta) * (
        1 - 1e-9
    )


@every_accountant
@given(history=histories, delta=deltas, data=st.data())
def test_the_order_of_events_is_of_no_account(accountant: Accountant, history, delta, data):
    shuffled = data.draw(st.permutations(history))
    assert accountant.epsilon(shuffled, delta) == accountant.epsilon(history, delta)


@every_accountant
@given(event=exponentials | gaussians, delta=deltas)
def test_one_event_of_many_costs_as_much_as_many_of_one(accountant: Accountant, event, delta):
    singles = [Event(event.mechanism, event.parameter)] * event.count
    assert accountant.epsilon(singles, delta) == accountant.epsilon([event], delta)


@every_accountant
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_an_impossible_delta_is_refused(accountant: Accountant, delta):
    with pytest.raises(ValueError, match="delta must be at least 0 and below 1"):
        accountant.epsilon([exponential(1)], delta)


@given(histories.filter(merge))
def test_without_delta_only_pure_composition_says_anything(history):
    pure = pure_epsilon(history)
    assert epsilon(history, 0.0) == (math.inf if pure is None else above(pure))
    assert all(each.epsilon(history, 0.0) == math.inf for each in (ZCDP, RDP, GDP))


@given(histories, deltas)
def test_the_result_is_the_least_of_all_accountants(history, delta):
    assert epsilon(history, delta) == min(each.epsilon(history, delta) for each in ACCOUNTANTS)


@given(st.integers(1, 500), st.integers(1, 60), st.fractions(Fraction(1, 1000), 100))
def test_shares_of_a_budget_add_up_to_it_and_to_nothing_else(count, parts, total):
    share = Event("exponential", str(total / (count * parts)), count)
    assert within([share] * parts, Budget(total))
    assert not within([*[share] * parts, exponential(Fraction(1, 10**12))], Budget(total))


def test_a_budget_is_met_by_the_pure_route_or_by_another():
    draws = [exponential("1/4", 40)]
    assert within(draws, Budget(Fraction(10)))
    assert not within(draws, Budget(Fraction(5)))
    assert within(draws, Budget(Fraction(5), 1e-5))


def test_a_pure_loss_of_1_costs_as_much_zcdp_as_noise_of_one_sensitivity():
    pure, noisy, bounded = Event("permute-and-flip", "1"), Event("gaussian", "1"), Event("exponential", "2")
    assert ZCDP.epsilon([pure], 1e-5) == ZCDP.epsilon([noisy], 1e-5) == ZCDP.epsilon([bounded], 1e-5)
