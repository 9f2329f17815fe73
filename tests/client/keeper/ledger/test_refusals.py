"""Refusals over what all runs have spent: what they name is enough, and nothing in them is to be pasted."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from pcevolve.errors import BudgetError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.privacy import Budget, Event
from support.accounts import (
    ONE,
    UNITS,
    account,
    budget,
    gaussian,
    never,
    outcome,
    pay,
    query,
)


@pytest.mark.parametrize("total", ["1/3", "7/9", "1000001/1000000", "22/7"])
def test_the_sum_that_a_refusal_names_is_enough_as_a_cap(path, total):
    event = Event("exponential", total)
    account(path, limit=10, lifetime=10).pay(query(1), [event], outcome())
    with pytest.raises(BudgetError, match=r"for all runs with pcevolve budget cap") as refused:
        account(path, run="b", limit=10, lifetime=Fraction(total)).require([event])
    named = re.search(r"this run would bring the sum to ([\d.]+)\. The earlier runs are", str(refused.value))
    assert named is not None
    account(path, run="b", limit=10, lifetime=Fraction(named[1])).require([event])


def test_gaussian_noise_cannot_be_had_at_delta_zero(path):
    with pytest.raises(BudgetError, match=r"at delta 0 no epsilon bounds .* give a --delta above 0"):
        account(path).pay(query(1), [Event("gaussian", "2")], never)


def test_no_refusal_over_runs_holds_an_option_to_paste(path):
    pay(account(path), 1)
    pay(account(path.with_name("noisy.sqlite"), **gaussian(lifetime=20)), 1, event=Event("gaussian", "2"))
    for ledger, run, options in (
        (path, "a", {"limit": 9, "lifetime": 2}),
        (path, "b", {"limit": 9, "lifetime": 2}),
        (path.with_name("noisy.sqlite"), "b", {}),
    ):
        with pytest.raises(BudgetError, match="for all runs with pcevolve budget cap") as refused:
            account(ledger, run, **options).require([Event("exponential", "3")])
        assert "--set" not in str(refused.value)


def test_earlier_gaussian_noise_is_not_forgotten_by_a_run_at_delta_zero(path):
    account(path, **gaussian(lifetime=20)).pay(query(1), [Event("gaussian", "2")], outcome())
    with pytest.raises(BudgetError, match="at delta 0 no epsilon bounds") as refused:
        account(path, run="b", lifetime=1).require([ONE])
    assert str(refused.value).endswith(
        "set a cap for all runs with pcevolve budget cap, with a delta above 0"
    )
    LedgerBook(path).set_cap(Budget(Fraction(20), 1e-5))
    LedgerBook(path).account("c", UNITS, "replace-one", budget(10)).require([ONE])
