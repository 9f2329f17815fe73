"""ε as it is said everywhere: what every unit of the private folder bears stands first."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.parts import PriorReleases
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.publish.loss import (
    PrivacyLoss,
    count_found_members,
    find_folder_events,
    state_cumulative_loss,
)
from support.runs import following_plan, small_plan

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


def test_what_an_attacker_finds_is_counted_at_five_false_alarms_in_a_hundred_and_rounded_up():
    # Of mu = 1.9: Phi(1.9 + Phi^-1(0.05)) = 0.6007.
    assert count_found_members([Event("gaussian", "10/19")]) == 61
    assert count_found_members([]) == 5


def test_a_loss_is_rounded_up_and_never_above_the_budget_that_it_was_held_to():
    third = PrivacyLoss(0.33333333333333331, None, "image").round_up(Fraction(1, 3))
    assert third.epsilon == float(Fraction(1, 3))
    assert PrivacyLoss(10.00000000012, 5.00000000012, "image").round_up(Fraction(4)) == PrivacyLoss(
        10.00000001, 5.000000001, "image"
    )
    assert PrivacyLoss(math.inf, None, "image").round_up(Fraction(4)).epsilon == math.inf
    assert PrivacyLoss(math.inf, None, "image").say() == "epsilon no finite number"


PAID = [Event("exponential", "5/4", 2)]
BEFORE = PriorReleases(releases=1, events=(Event("exponential", "1", 2),))
MIXED = PriorReleases(releases=2, events=None)


def test_what_all_releases_of_a_ledger_add_up_to_is_said_where_there_were_any():
    assert state_cumulative_loss(small_plan(method="pcevolve", earlier=BEFORE), PAID) == (
        "Before this run, the ledger listed 1 earlier run. If one image is in that run and in this run, its total "
        "epsilon is at most 4.5 (delta 0). Later runs are not counted."
    )
    assert state_cumulative_loss(small_plan(method="pcevolve", earlier=MIXED), PAID) == (
        "Before this run, the ledger listed 2 earlier runs, some under a different neighbour relation or on units of "
        "a different kind. If one image is in all of these runs, its total epsilon cannot be computed."
    )
    varied = state_cumulative_loss(following_plan(earlier=MIXED), PAID)
    assert varied.startswith("Before the run of the release that is varied, the ledger listed 2 earlier")


def test_nothing_is_added_up_where_there_was_none_or_nothing_is_promised():
    assert state_cumulative_loss(small_plan(method="pcevolve"), PAID) == ""
    for earlier in (BEFORE, MIXED):
        assert (
            state_cumulative_loss(
                small_plan(method="pcevolve", earlier=earlier, noise="INSECURE-seeded"), PAID
            )
            == ""
        )
