"""Luck, to which every lift is compared."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given

from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors.control import FOLLOWING, RANDOM, TEXT_TO_IMAGE
from pcevolve.public.selectors.rounds import best_tenth, drawn_lift, uniform_lift
from support.contract import SCOPES, scope
from support.lifts import event, every_lift


@every_lift
@given(scope=SCOPES)
def test_a_hopeless_budget_is_no_better_than_chance(lift, mechanism, scope):
    worthless = 1e-9 if mechanism == "exponential" else 1e9
    assert lift(event(mechanism, worthless), scope) == pytest.approx(uniform_lift((), scope), rel=0.01)


@pytest.mark.parametrize(("candidates", "best"), [(1, 1), (10, 1), (11, 2), (100, 10)])
def test_the_best_tenth_is_rounded_up_and_luck_finds_its_share(candidates: int, best: int):
    sizes = scope(candidates=candidates)
    assert best_tenth(candidates) == best
    assert uniform_lift((), sizes) == best / candidates


def test_a_draw_finds_the_best_by_its_odds():
    sizes = scope(candidates=20)
    assert drawn_lift(math.log(9), 2, sizes) == pytest.approx(2 * 9 / (2 * 9 + 18))
    assert drawn_lift(math.log(9), 1, sizes) == pytest.approx(10 / (10 + 18))
    assert drawn_lift(1e6, 2, sizes) == 1
    assert drawn_lift(0, 2, sizes) == pytest.approx(0.1)


def test_controls_and_what_follows_a_release_draw_nothing_of_private_data_and_luck_alone_has_rounds():
    methods = (RANDOM, TEXT_TO_IMAGE, FOLLOWING)
    for method in methods:
        assert (method.selector, method.lift) == (None, uniform_lift)
        assert method.tight(Budget(Fraction(1)), scope(iterations=2)) == ((Event("uniform"),),) * 2
    assert [each.rounds(Budget(Fraction(10)), scope()) for each in methods] == [20, 0, 0]
    assert [each.varies for each in methods] == [True, False, True]
