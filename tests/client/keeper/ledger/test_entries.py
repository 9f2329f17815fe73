"""Rows of a ledger, in the order of payment."""

from __future__ import annotations

import json

import pytest

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.entries import Listed
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.privacy import FREE, Event
from pcevolve.public.release import Receipt
from support.accounts import ONE, account, images, outcome, patients, pay, prints_in, query


def test_history_tells_every_access_in_the_order_of_payment(path):
    first, second = account(path), account(path, run="b", units=images(b"other"))
    pay(first, 1)
    pay(second, 1, "b")
    first.pay(query(2), [Event("exponential", "1/2", 2), FREE], outcome())
    told = [
        (row.run_id, row.iteration, row.mechanism, row.count, row.epsilon)
        for row in LedgerBook(path).history()
    ]
    assert told == [
        ("a", 1, "exponential", 1, 1.0),
        ("b", 1, "exponential", 1, 1.0),
        ("a", 2, "exponential", 2, 2.0),
        ("a", 2, "post-processing", 1, 2.0),
    ]
    assert [row.run_id for row in LedgerBook(path).history("b")] == ["b"]


def test_the_most_exposed_image_bears_what_all_secure_runs_spent_on_it(path):
    assert LedgerBook(path).find_most_exposed(0.0) is None
    account(path, run="unpaid")
    assert LedgerBook(path).find_most_exposed(0.0) is None
    pay(account(path), 1)
    pay(account(path, run="b", units=images(b"unit 2", b"other")), 1, "b")
    pay(account(path, run="c", units=images(b"third", b"other")), 1, "c")
    pay(account(path, run="d", units=images(b"unit 2"), secure=False, limit=9, lifetime=9), 1, "d")
    worst = LedgerBook(path).find_most_exposed(0.0)
    assert epsilon(worst.events, 0.0) == 2.0
    pay(account(path, run="e", units=images(b"other"), limit=9, lifetime=9), 1, "e")
    worst = LedgerBook(path).find_most_exposed(0.0)
    assert (worst.kind, epsilon(worst.events, 0.0)) == ("image", 3.0)


def test_what_a_patient_bears_under_two_relations_has_no_sum(path):
    pay(account(path, units=images(b"1")), 1)
    named = {"unit": "patient", "relation": "add-remove", "unit_size": 5}
    pay(account(path, run="b", units=patients(p=[b"2"]), **named), 1, "b")
    account(
        path, run="c", units=patients(p=[b"1", b"2"]), **named
    )  # pays nothing, and shows whose image 1 is
    with pytest.raises(LedgerError, match="a different neighbour relation"):
        LedgerBook(path).find_most_exposed(0.0)


def test_an_export_holds_every_receipt_and_nothing_private(path):
    mine = account(path)
    receipts = [pay(mine, 1), mine.pay(query(2), [ONE], outcome("y", b"secret"))]
    exported = json.loads(json.dumps(LedgerBook(path).export()))
    assert [Receipt.from_dict(each) for each in exported["runs"][0]["receipts"]] == receipts
    hidden = [each.hex() for each in prints_in(path)]
    assert not any(each in json.dumps(exported) for each in [*hidden, "secret", '"units"', '"time"'])


def test_a_listed_secret_bears_gaussian_noise_of_its_budget_and_nothing_where_nothing_may_be_learned():
    assert Listed("print", most=1, budget=0.25).as_event() == Event("gaussian", "4", 1)
    assert Listed("print", most=1, budget=0.25).as_event(3) == Event("gaussian", "4", 3)
    assert Listed("print", most=1, budget=0.0).as_event(3) == FREE
