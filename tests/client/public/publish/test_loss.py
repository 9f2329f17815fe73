"""ε as it is said everywhere: what every unit of the private folder bears stands first."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.publish.loss import PrivacyLoss, count_found_members, find_folder_events
from support.runs import small_plan

AT_TEN = Event("gaussian", str(smallest_noise_multiplier(Budget(Fraction(10), 1e-5), 1)))
DRAWN, WHOLE = small_plan(subsample=10, delta=1e-5), small_plan(delta=1e-5)


@pytest.mark.parametrize(
    ("plan", "budget", "words"),
    [
        (WHOLE, None, "epsilon 10"),
        (WHOLE, 12.0, "epsilon 10 of 12"),
        (DRAWN, None, "epsilon 24.389 for one image of the whole folder (10 for one that was drawn)"),
        (DRAWN, 12.0, "epsilon 24.389 for one image of the whole folder (10 of 12 for one that was drawn)"),
    ],
)
def test_what_protects_everybody_in_the_folder_is_said_first(plan, budget, words):
    assert PrivacyLoss.of(plan, [AT_TEN]).say(budget) == words


def test_an_attacker_on_a_unit_of_the_folder_is_bounded_by_two_of_the_draw():
    assert count_found_members([Event("gaussian", "2")]) < count_found_members(
        find_folder_events(DRAWN, [Event("gaussian", "2")])
    )
    assert count_found_members(find_folder_events(WHOLE, [AT_TEN])) == 64
    assert count_found_members(find_folder_events(DRAWN, [AT_TEN])) == 100


def test_a_loss_is_rounded_up_and_never_above_the_budget_that_it_was_held_to():
    third = PrivacyLoss(0.33333333333333331, None, "image").round_up(Fraction(1, 3))
    assert third.epsilon == float(Fraction(1, 3))
    assert PrivacyLoss(10.00000000012, 5.00000000012, "image").round_up(Fraction(4)) == PrivacyLoss(
        10.00000001, 5.000000001, "image"
    )
    assert PrivacyLoss(math.inf, None, "image").round_up(Fraction(4)).epsilon == math.inf
    assert PrivacyLoss(math.inf, None, "image").say() == "epsilon no finite number"
