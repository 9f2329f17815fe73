"""What a run pays, and what it may: a draw and its charge are one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.keeper.ledger.entries import Listed
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.privacy import FREE, Event
from pcevolve.public.release import Query, Receipt
from support.accounts import (
    ONE,
    UNITS,
    account,
    budget,
    images,
    never,
    outcome,
    patients,
    pay,
    query,
)


def test_a_query_is_drawn_once_and_answered_from_record_ever_after(path):
    first = pay(account(path), 1)
    assert account(path).pay(query(1), [ONE], never) == first
    assert account(path).receipt(query(1)) == first
    assert account(path).receipts() == (first,)


def test_a_receipt_says_what_was_drawn_and_what_was_done_for_it(path):
    receipt = account(path).pay(query(2), [ONE, FREE], outcome("x"))
    assert receipt == Receipt("a", 2, outcome("x")().choices, (ONE, FREE), "replace-one")
    assert account(path).is_committed(receipt)


def test_only_what_was_paid_for_is_committed(path):
    mine = account(path)
    receipt = pay(mine, 1)
    forged = Receipt("a", 1, outcome("y")().choices, receipt.events, receipt.relation)
    assert not mine.is_committed(forged)
    assert not mine.is_committed(Receipt("b", 1, receipt.choices, receipt.events, receipt.relation))


@dataclass
class OnRecord:
    """A record that ends in a line, and has some receipts."""

    head: str
    receipts: tuple[Receipt, ...] = ()

    def has(self, receipt: Receipt) -> bool:
        return receipt in self.receipts


def test_a_release_is_handed_out_to_the_record_that_it_was_drawn_from_and_to_no_other_copy(path):
    first, second = (account(path, record=OnRecord(head)) for head in ("one", "two"))
    receipt = pay(first, 1)
    assert pay(account(path, record=OnRecord("one")), 1) == receipt
    assert pay(account(path, record=OnRecord("later", (receipt,))), 1) == receipt
    for ask in (lambda: second.receipt(query(1)), lambda: second.pay(query(1), [ONE], never)):
        with pytest.raises(LedgerError, match="another copy of this run's folder was continued"):
            ask()
    assert [each.record for each in LedgerBook(path).payments("a")] == ["one"]


def test_a_run_is_bound_to_what_its_choices_follow_from_and_the_ledger_tells_nothing_of_it(path):
    classes = hashlib.sha256(b"cut, good").digest()
    account(path, data=classes)
    with pytest.raises(LedgerError, match="but a label or a declared secret has changed"):
        account(path, data=hashlib.sha256(b"good, cut").digest())
    stored = path.read_bytes()
    assert classes not in stored
    assert classes.hex().encode() not in stored


def test_a_measurement_is_remembered_for_the_private_side_alone(path):
    mine = account(path)
    mine.pay(query(1), [ONE], outcome("x", b"\x00noised sums"))
    assert account(path).read_measured(1) == b"\x00noised sums"
    assert mine.read_measured(2) == b""
    assert "noised sums" not in json.dumps(LedgerBook(path).export())


def test_what_is_over_the_budget_is_not_drawn(path):
    mine = account(path)
    for number in range(3):
        pay(mine, number)
    with pytest.raises(BudgetError, match=r"epsilon=1 was requested, but only 0 is left in this run"):
        mine.pay(query(4), [ONE], never)
    assert len(mine.receipts()) == 3


def test_what_is_free_can_always_be_had(path):
    mine = account(path, limit=1)
    pay(mine, 1)
    mine.pay(query(2), [FREE], outcome())
    mine.pay(query(3), [Event("uniform", count=5)], outcome())
    assert len(mine.receipts()) == 3


def test_a_draw_that_fails_costs_nothing_and_its_error_is_its_own(path):
    mine = account(path)
    with pytest.raises(FileNotFoundError, match="encoder"):
        mine.pay(query(1), [ONE], Path("/no/encoder").read_bytes)
    assert mine.receipts() == ()
    pay(mine, 1)


def test_a_run_cannot_pay_for_another(path):
    with pytest.raises(LedgerError, match="run a cannot pay for a query of run b"):
        account(path).pay(Query("b", 1), [ONE], never)


def test_a_plan_that_does_not_fit_is_refused_before_anything_is_spent(path):
    mine = account(path)
    mine.require([Event("exponential", "1/2", 6)])
    with pytest.raises(BudgetError, match=r"epsilon=3\.5 was requested, but only 3 is left in this run"):
        mine.require([Event("exponential", "1/2", 7)])
    assert mine.receipts() == ()


def test_what_a_resumed_run_has_paid_of_its_plan_is_not_counted_again(path):
    plan = [Event("exponential", "1", 2), Event("exponential", "1/2", 2)]
    mine = account(path)
    mine.pay(query(1), [Event("exponential", "2/2"), Event("exponential", "1/2")], outcome())
    mine.require(plan)
    mine.pay(query(2), [Event("exponential", "1/2")], outcome())
    mine.pay(query(3), [Event("exponential", "1")], outcome())
    mine.require(plan)
    with pytest.raises(BudgetError, match="epsilon=1 was requested, but only 0 is left"):
        mine.require([*plan, ONE])


OTHERS = "differ from those that this run began with"
OTHERWISE = r"began with other settings \(privacy.relation replace-one, privacy unit one image"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"units": images(b"unit 1")}, OTHERS),
        ({"units": patients(p=[b"unit 1", b"unit 2"], q=[b"unit 3"]), "unit": "patient"}, OTHERS),
        *(
            (other, OTHERWISE)
            for other in (
                {"relation": "add-remove"},
                {"unit_size": 4},
                {"secure": False},
                {"forgets_insecure": True},
                {"provider": "https://else.example"},
                {"secrets": Listed("b" * 64, 3, 0.5)},
            )
        ),
    ],
)
def test_a_run_cannot_be_continued_with_other_data_or_under_another_promise(path, other, said):
    account(path)
    with pytest.raises(LedgerError, match=said):
        account(path, **other)


def test_an_account_leaves_no_trace_until_it_is_enrolled_and_cannot_pay_before(path):
    ledger = LedgerBook(path)
    mine = ledger.account("a", UNITS, "replace-one", budget(3))
    mine.require([ONE])
    with pytest.raises(LedgerError, match="not in the ledger, so it cannot pay: enrol it first"):
        mine.pay(query(1), [ONE], never)
    assert (ledger.runs(), mine.enrolled) == ([], False)
    mine.enrol()
    pay(mine, 1)
    assert (len(LedgerBook(path).runs()), mine.enrolled) == (1, True)
