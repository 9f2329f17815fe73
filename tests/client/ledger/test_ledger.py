"""The ledger: charge and outcome are one; the budget belongs to the data; what is recorded cannot be edited."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.ledger.account import Limits
from pcevolve.ledger.ledger import Ledger
from pcevolve.privacy import FREE, Budget, Event
from pcevolve.public.release import Query, Receipt
from support.accounts import (
    ONE,
    UNITS,
    account,
    budget,
    gaussian,
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
        with pytest.raises(LedgerError, match="another copy of this run's folder has gone on meanwhile"):
            ask()
    assert [each.record for each in Ledger(path).payments("a")] == ["one"]


def test_a_run_is_bound_to_what_its_choices_follow_from_and_the_ledger_tells_nothing_of_it(path):
    classes = hashlib.sha256(b"cut, good").digest()
    account(path, data=classes)
    with pytest.raises(LedgerError, match="but not as they were: an image or a text is in another class"):
        account(path, data=hashlib.sha256(b"good, cut").digest())
    stored = path.read_bytes()
    assert classes not in stored
    assert classes.hex().encode() not in stored


def test_a_measurement_is_remembered_for_the_private_side_alone(path):
    mine = account(path)
    mine.pay(query(1), [ONE], outcome("x", b"\x00noised sums"))
    assert account(path).read_measured(1) == b"\x00noised sums"
    assert mine.read_measured(2) == b""
    assert "noised sums" not in json.dumps(Ledger(path).export())


def test_what_is_over_the_budget_is_not_drawn(path):
    mine = account(path)
    for number in range(3):
        pay(mine, number)
    with pytest.raises(BudgetError, match=r"asked epsilon=1, 0 left in this run"):
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


# -- plans ---------------------------------------------------------------------------------------------------------


def test_a_plan_that_does_not_fit_is_refused_before_anything_is_spent(path):
    mine = account(path)
    mine.require([Event("exponential", "1/2", 6)])
    with pytest.raises(BudgetError, match=r"asked epsilon=3\.5, 3 left in this run"):
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
    with pytest.raises(BudgetError, match="asked epsilon=1, 0 left"):
        mine.require([*plan, ONE])


# -- lifetimes -----------------------------------------------------------------------------------------------------


def test_a_second_run_on_the_same_data_sees_what_was_spent(path):
    pay(account(path), 1)
    other = account(path, run="b")
    assert other.compute_spent_before() == 1
    with pytest.raises(BudgetError, match="earlier runs already spent epsilon=1 on these data"):
        other.require([Event("exponential", "1", 3)])
    account(path, run="b", lifetime=4).require([Event("exponential", "1", 3)])


def test_the_worst_unit_decides_and_not_the_sum_over_units(path):
    pay(account(path, run="a", units=images(b"1", b"2")), 1, "a")
    pay(account(path, run="b", units=images(b"2", b"3")), 1, "b")
    assert account(path, run="c", units=images(b"1", b"3")).compute_spent_before() == 1
    assert account(path, run="d", units=images(b"1", b"2", b"3")).compute_spent_before() == 2


def test_without_a_cap_all_runs_may_spend_together_what_the_next_one_alone_may(path):
    units, terms = (UNITS, "replace-one"), "image"
    Ledger(path).account("a", *units, budget(2), terms).enrol().pay(query(1), [ONE, ONE], outcome())
    with pytest.raises(BudgetError, match=r"whose lifetime limit is 3 at delta 0; this would make it 5\."):
        Ledger(path).account("b", *units, budget(3), terms).require([Event("exponential", "3")])


def test_a_run_lowers_the_cap_for_itself_and_does_not_raise_it(path):
    ledger = Ledger(path)
    ledger.set_cap(Budget(Fraction(6), 1e-5))

    def ask(lower: int, count: int = 4) -> None:
        limits = Limits(Budget(Fraction(9)), Fraction(lower))
        ledger.account("a", UNITS, "replace-one", limits).require([Event("exponential", "1", count)])

    ask(6)
    with pytest.raises(BudgetError, match="whose lifetime limit is 3 at delta 1e-05"):
        ask(3)
    for wish in (lambda: ask(7), lambda: ask(7, count=0)):
        with pytest.raises(
            BudgetError, match=r"lifetime_epsilon 7 is more than the ledger's cap allows, 6: .*lower"
        ):
            wish()
    limits = Limits(Budget(Fraction(9)), Fraction(10))
    uncapped = Ledger(path.with_name("other.sqlite")).account("a", UNITS, "replace-one", limits)
    with pytest.raises(BudgetError, match=r"lifetime_epsilon 10 is more than this run may spend.* no cap, 9"):
        uncapped.require([ONE])


def test_a_cap_holds_from_the_next_draw_on_and_every_cap_is_in_the_history(path):
    mine = account(path, limit=9, lifetime=9)
    pay(mine, 1)
    Ledger(path).set_cap(Budget(Fraction(1), 1e-5))
    with pytest.raises(
        BudgetError, match=r"this run would spend epsilon=1\.95\d+ on one image, whose .* is 1 "
    ):
        mine.pay(query(2), [ONE], never)
    Ledger(path).set_cap(Budget(Fraction(20), 1e-5))
    pay(mine, 2)
    ledger = Ledger(path)
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


# -- what a run is bound to ----------------------------------------------------------------------------------------


OTHERS = "not those that this run began with"
OTHERWISE = "began with privacy.relation replace-one, one image as its privacy unit"


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
            )
        ),
    ],
)
def test_a_run_cannot_be_continued_with_other_data_or_under_another_promise(path, other, said):
    account(path)
    with pytest.raises(LedgerError, match=said):
        account(path, **other)


def test_relations_cannot_be_mixed_on_the_same_data(path):
    pay(account(path), 1)
    other = account(path, run="b", relation="add-remove")
    refusal = "another neighbour relation: use the same, --set privacy.relation=replace-one"
    with pytest.raises(LedgerError, match=refusal):
        other.require([ONE])
    with pytest.raises(LedgerError, match=refusal):
        other.pay(query(1, "b"), [ONE], never)
    pay(account(path, run="c", relation="add-remove", units=images(b"other")), 1, "c")


def test_an_account_leaves_no_trace_until_it_is_enrolled_and_cannot_pay_before(path):
    ledger = Ledger(path)
    mine = ledger.account("a", UNITS, "replace-one", budget(3))
    mine.require([ONE])
    with pytest.raises(LedgerError, match="not on record, so it cannot pay: enrol it first"):
        mine.pay(query(1), [ONE], never)
    assert (ledger.runs(), mine.enrolled) == ([], False)
    mine.enrol()
    pay(mine, 1)
    assert (len(Ledger(path).runs()), mine.enrolled) == (1, True)


def prints_in(path):
    """The fingerprints of a run on single images."""
    blob = sqlite3.connect(path).execute("SELECT private FROM rows WHERE name = ''").fetchone()[0]
    return {blob[start : start + 32] for start in range(0, len(blob), 32)}


def test_fingerprints_reveal_nothing_without_the_key(path):
    account(path)
    prints = prints_in(path)
    assert len(prints) == 3
    for image in (b"unit 1", b"unit 1".hex().encode()):
        assert image not in path.read_bytes()


def test_two_ledgers_know_the_same_image_by_different_fingerprints(tmp_path):
    for name in ("one", "two"):
        account(tmp_path / f"{name}.sqlite")
    one, two = (prints_in(tmp_path / f"{name}.sqlite") for name in ("one", "two"))
    assert not one & two


def test_files_are_for_the_owner_alone(tmp_path):
    path = tmp_path / "new" / "ledger.sqlite"
    account(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_suffix(".key").stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(each.name for each in path.parent.iterdir()) == ["ledger.key", "ledger.sqlite"]


# -- what people and auditors read ---------------------------------------------------------------------------------


def test_history_tells_every_access_in_the_order_of_payment(path):
    first, second = account(path), account(path, run="b", units=images(b"other"))
    pay(first, 1)
    pay(second, 1, "b")
    first.pay(query(2), [Event("exponential", "1/2", 2), FREE], outcome())
    told = [
        (row.run_id, row.iteration, row.mechanism, row.count, row.epsilon) for row in Ledger(path).history()
    ]
    assert told == [
        ("a", 1, "exponential", 1, 1.0),
        ("b", 1, "exponential", 1, 1.0),
        ("a", 2, "exponential", 2, 2.0),
        ("a", 2, "post-processing", 1, 2.0),
    ]
    assert [row.run_id for row in Ledger(path).history("b")] == ["b"]


def test_an_export_holds_every_receipt_and_nothing_private(path):
    mine = account(path)
    receipts = [pay(mine, 1), mine.pay(query(2), [ONE], outcome("y", b"secret"))]
    exported = json.loads(json.dumps(Ledger(path).export()))
    assert [Receipt.from_dict(each) for each in exported["runs"][0]["receipts"]] == receipts
    hidden = [each.hex() for each in prints_in(path)]
    assert not any(each in json.dumps(exported) for each in [*hidden, "secret", '"units"', '"time"'])


def test_what_a_run_has_paid_itself_counts_for_the_lifetime_of_its_units(path):
    mine = account(path, limit=9, lifetime=2)
    pay(mine, 1)
    pay(mine, 2)
    with pytest.raises(BudgetError, match="would spend epsilon=3 on one image, whose lifetime limit is 2 at"):
        mine.pay(query(3), [ONE], never)
