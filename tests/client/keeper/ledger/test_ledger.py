"""The ledger: charge and outcome are one; the budget belongs to the data; what is recorded cannot be edited."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.keeper.ledger.account import Limits
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.ledger import Origin
from pcevolve.public.privacy import Budget, Event
from support.accounts import ONE, UNITS, account, budget, gaussian, images, never, outcome, pay, query


def test_a_second_run_on_the_same_data_sees_what_was_spent(path):
    pay(account(path), 1)
    other = account(path, run="b")
    assert other.compute_spent_before() == 1
    with pytest.raises(BudgetError, match="earlier runs have already spent epsilon=1 on the most exposed"):
        other.require([Event("exponential", "1", 3)])
    account(path, run="b", lifetime=4).require([Event("exponential", "1", 3)])


def test_the_worst_unit_decides_and_not_the_sum_over_units(path):
    pay(account(path, run="a", units=images(b"1", b"2")), 1, "a")
    pay(account(path, run="b", units=images(b"2", b"3")), 1, "b")
    assert account(path, run="c", units=images(b"1", b"3")).compute_spent_before() == 1
    assert account(path, run="d", units=images(b"1", b"2", b"3")).compute_spent_before() == 2


def test_without_a_cap_all_runs_may_spend_together_what_the_next_one_alone_may(path):
    units, terms = (UNITS, "replace-one"), "image"
    LedgerBook(path).account("a", *units, budget(2), terms).enrol().pay(query(1), [ONE, ONE], outcome())
    with pytest.raises(
        BudgetError, match=r"and the cap is 3 at delta 0; this run would bring the sum to 5\."
    ):
        LedgerBook(path).account("b", *units, budget(3), terms).require([Event("exponential", "3")])


def test_a_run_lowers_the_cap_for_itself_and_does_not_raise_it(path):
    ledger = LedgerBook(path)
    ledger.set_cap(Budget(Fraction(6), 1e-5))

    def ask(lower: int, count: int = 4) -> None:
        limits = Limits(Budget(Fraction(9)), Fraction(lower))
        ledger.account("a", UNITS, "replace-one", limits).require([Event("exponential", "1", count)])

    ask(6)
    with pytest.raises(BudgetError, match="and the cap is 3 at delta 1e-05"):
        ask(3)
    for wish in (lambda: ask(7), lambda: ask(7, count=0)):
        with pytest.raises(
            BudgetError, match=r"lifetime_epsilon 7 is more than the ledger's cap allows, 6: .*lower"
        ):
            wish()
    limits = Limits(Budget(Fraction(9)), Fraction(10))
    uncapped = LedgerBook(path.with_name("other.sqlite")).account("a", UNITS, "replace-one", limits)
    with pytest.raises(BudgetError, match=r"lifetime_epsilon 10 is more than this run may spend.* no cap, 9"):
        uncapped.require([ONE])


def test_a_cap_holds_from_the_next_draw_on_and_every_cap_is_in_the_history(path):
    mine = account(path, limit=9, lifetime=9)
    pay(mine, 1)
    LedgerBook(path).set_cap(Budget(Fraction(1), 1e-5))
    with pytest.raises(
        BudgetError, match=r"this run would spend epsilon=1\.95\d+ on one image, and the .* is 1 "
    ):
        mine.pay(query(2), [ONE], never)
    LedgerBook(path).set_cap(Budget(Fraction(20), 1e-5))
    pay(mine, 2)
    ledger = LedgerBook(path)
    assert [each.budget for each in ledger.caps()] == [Budget(Fraction(each), 1e-5) for each in (1, 20)]
    assert [each.number for each in ledger.caps()] == [3, 4]
    assert ledger.cap() == Budget(Fraction(20), 1e-5)
    assert [row.run_id for row in ledger.runs()] == ["a"]
    assert [row.number for row in ledger.history()] == [2, 5]
    assert ledger.export()["caps"] == [{"epsilon": "1", "delta": 1e-5}, {"epsilon": "20", "delta": 1e-5}]


def test_gaussian_events_compose_better_than_their_sum(path):
    alone = account(path, run="a", **gaussian(lifetime=20))
    alone.pay(query(1), [Event("gaussian", "2")], outcome())
    other = account(path, run="b", **gaussian(lifetime=20))
    one = other.compute_spent_before()
    other.pay(query(1, "b"), [Event("gaussian", "2")], outcome())
    assert one < account(path, run="c", **gaussian(lifetime=20)).compute_spent_before() < 2 * one


def test_relations_cannot_be_mixed_on_the_same_data(path):
    pay(account(path), 1)
    other = account(path, run="b", relation="add-remove")
    refusal = "a different neighbour relation: use the same relation, --set privacy.relation=replace-one"
    with pytest.raises(LedgerError, match=refusal):
        other.require([ONE])
    with pytest.raises(LedgerError, match=refusal):
        other.pay(query(1, "b"), [ONE], never)
    pay(account(path, run="c", relation="add-remove", units=images(b"other")), 1, "c")


def test_a_run_is_found_by_as_much_of_its_id_as_tells_it_from_the_others_and_by_four_characters_at_least(
    path,
):
    for run in ("abcd1111", "abcd2222", "abcd", "beef"):
        pay(account(path, run=run, units=images(run.encode())), 1, run)
    ledger = LedgerBook(path)
    for begin, run in (("abcd", "abcd"), ("abcd1", "abcd1111"), ("abcd2222", "abcd2222"), ("beef", "beef")):
        assert {row.run_id for row in ledger.history(begin)} == {run}
    assert len(ledger.history()) == 4
    for begin in ("abcd3", "abcd11111", "bee", "abc", ""):
        with pytest.raises(LedgerError, match=f"the ledger does not contain a run {begin}: "):
            ledger.history(begin)


def test_what_began_in_a_folder_and_paid_is_found_by_the_folder(path, tmp_path):
    ledger = LedgerBook(path)
    for run, folder, pays in (("a", "one", True), ("b", "one", False), ("c", "two", True)):
        limits, origin = budget(3), Origin(str(tmp_path / folder))
        mine = ledger.account(run, images(run.encode()), "replace-one", limits, origin=origin).enrol()
        if pays:
            pay(mine, 1, run)
    assert [row.run_id for row in ledger.find_paid(tmp_path / "one")] == ["a"]
    assert ledger.find_paid(tmp_path) == []
