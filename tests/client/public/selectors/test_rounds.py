"""Budgets divided into events: they fit piece by piece, and nothing that could be spent is left over."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.errors import UsageError
from pcevolve.public.dp.accountants import epsilon, within
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors.rounds import (
    exponential_draws,
    exponential_per_class,
    free_draws,
    gaussian_once,
    gaussian_per_round,
    pay_for_appearance,
    pay_for_centre,
    pay_for_class_counts,
    published_gaussian_per_round,
)
from support.contract import SCOPES, scope

GAUSSIAN = [gaussian_per_round, gaussian_once]
PUBLISHED = [published_gaussian_per_round]
ONE_DRAW = exponential_draws(1)
PURE = [free_draws, exponential_per_class, ONE_DRAW, exponential_draws(5)]

totals = st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6)
deltas = st.floats(1e-12, 0.5)


def all_of(rounds):
    return list(chain.from_iterable(rounds))


def parametrize_named(functions):
    return pytest.mark.parametrize("calibration", functions, ids=lambda each: each.__qualname__.split(".")[0])


# Every calibration.


@parametrize_named(GAUSSIAN + PUBLISHED + PURE)
@given(total=totals, delta=deltas, scope=SCOPES, data=st.data())
def test_a_plan_has_a_transaction_for_each_round_and_fits_its_budget_when_charged_piece_by_piece(
    calibration, total, delta, scope, data
):
    budget = Budget(total, delta)
    rounds = calibration(budget, scope)
    assert len(rounds) == scope.iterations
    assert all(rounds)
    events = all_of(rounds)
    charged: list[Event] = []
    for event in data.draw(st.permutations(events)):
        charged.append(event)
        if len(charged) in (1, len(events) // 2, len(events)):
            assert within(charged, budget) or calibration in PUBLISHED


@parametrize_named([gaussian_per_round, gaussian_once, ONE_DRAW, exponential_draws(5)])
@given(total=totals, delta=st.floats(1e-12, 0.05), scope=SCOPES)
def test_a_calibrated_plan_leaves_nothing_over(calibration, total, delta, scope):
    events = all_of(calibration(Budget(total, delta), scope))
    assert epsilon(events, delta) >= float(total) * (1 - 1e-6)


@pytest.mark.parametrize("besides", [pay_for_centre, pay_for_class_counts, pay_for_appearance])
@parametrize_named(GAUSSIAN)
@given(total=totals, delta=st.floats(1e-12, 0.05), scope=SCOPES)
def test_what_is_released_besides_is_paid_out_of_the_same_budget(calibration, besides, total, delta, scope):
    budget = Budget(total, delta)
    events = all_of(besides(calibration(budget, scope)))
    assert within(events, budget)
    assert epsilon(events, delta) >= float(total) * (1 - 1e-6)


@parametrize_named(GAUSSIAN + PUBLISHED)
def test_gaussian_noise_without_delta_is_refused_with_the_option_to_give(calibration):
    with pytest.raises(UsageError, match="needs --delta, for example --delta 1e-5"):
        calibration(Budget(Fraction(10)), scope())


# Families.


@given(totals, SCOPES)
def test_all_draws_of_pcevolve_together_cost_the_budget_exactly(total, scope):
    events = all_of(exponential_per_class(Budget(total), scope))
    assert sum(event.value * event.count for event in events) == total


@pytest.mark.parametrize(
    ("delta", "iterations", "expected"), [(0.0, 3, 3.33), (0.0, 20, 0.50), (1e-5, 3, 3.41), (1e-5, 20, 0.886)]
)
def test_joint_votes_get_the_known_ranges(delta, iterations, expected):
    # Golden values at epsilon 10: pure, and by Renyi accounting
    [event] = ONE_DRAW(Budget(Fraction(10), delta), scope(iterations=iterations))[0]
    assert float(event.value) == pytest.approx(expected, abs=0.005 if iterations == 3 else 0.0006)


@given(totals, deltas, SCOPES)
def test_a_delta_never_makes_draws_weaker(total, delta, scope):
    loose = ONE_DRAW(Budget(total, delta), scope)[0][0]
    assert loose.value >= total / scope.iterations


@parametrize_named([*GAUSSIAN, ONE_DRAW])
@pytest.mark.parametrize("total", ["1e-9", "1e9"])
@pytest.mark.parametrize("delta", [1e-300, 0.999])
def test_the_extremes_of_what_may_be_asked_are_calibrated_too(calibration, total, delta):
    budget = Budget(parse_epsilon(total), delta)
    assert within(all_of(calibration(budget, scope(iterations=1000))), budget)


@pytest.mark.parametrize(
    ("pay", "share"), [(pay_for_centre, 0.2), (pay_for_class_counts, 0.1), (pay_for_appearance, 0.2)]
)
def test_what_is_released_first_has_its_share_of_the_budget(pay, share):
    first, *others = all_of(pay(((Event("gaussian", "3", 1),),)))
    precisions = [1 / float(each.value) ** 2 for each in (first, *others)]
    assert precisions[0] / sum(precisions) == pytest.approx(share, rel=1e-6)


def test_draws_of_all_rounds_share_the_budget_of_which_one_round_has_all():
    (alone,) = exponential_draws(2)(Budget(Fraction(6)), scope(iterations=1))
    assert alone == (Event("exponential", "3", 2),)
    assert (
        exponential_draws(2)(Budget(Fraction(6)), scope(iterations=3))
        == ((Event("exponential", "1", 2),),) * 3
    )
