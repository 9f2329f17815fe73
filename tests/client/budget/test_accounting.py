"""Exact sums, and the honest price of a draw."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve_client.budget.accounting import lift_top10, parse_epsilon, per_query
from pcevolve_client.errors import UsageError
from pcevolve_client.methods import METHODS, method


@given(st.fractions(min_value=Fraction(1, 1000), max_value=50), st.integers(1, 60), st.integers(2, 40))
def test_all_draws_together_cost_the_budget_exactly(total, iterations, classes):
    assert per_query(total, iterations, classes) * iterations * classes == total


def test_the_published_setting_costs_a_quarter_per_draw():
    assert per_query(Fraction(10), 20, 2) == Fraction(1, 4)


def test_the_published_setting_is_hardly_better_than_chance():
    # selectors.md, section 1: the best candidate is only e^0.125 = 1.13 times as likely as the worst
    assert lift_top10(Fraction(1, 4), 100) == pytest.approx(0.1118, abs=1e-4)


def test_a_free_draw_has_no_lift_and_a_priceless_one_is_certain():
    assert lift_top10(Fraction(0), 100) == pytest.approx(0.1)
    assert lift_top10(Fraction(10**6), 100) == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "", "ten", "1/0"])
def test_an_impossible_epsilon_is_refused(text):
    with pytest.raises(UsageError, match="epsilon must be a finite number above 0"):
        parse_epsilon(text)


def test_epsilon_is_the_decimal_that_was_written():
    assert parse_epsilon("0.1") == Fraction(1, 10)


def test_only_methods_that_look_at_private_data_cost_anything():
    costs = {name: each.query_cost(Fraction(10), 5, 2) for name, each in METHODS.items()}
    assert costs == {"pcevolve": Fraction(1), "random": Fraction(0), "t2i": Fraction(0)}


def test_an_unknown_method_is_refused_with_the_choices():
    with pytest.raises(UsageError, match="choose one of pcevolve, random, t2i"):
        method("magic")
