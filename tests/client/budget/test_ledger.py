"""The ledger: charge and outcome are one, across crashes, processes and runs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve_client.budget.ledger import Account, Cost, Ledger, Limits
from pcevolve_client.errors import BudgetError, LedgerError
from pcevolve_client.release import Chosen, Query

UNITS = [b"unit 1", b"unit 2", b"unit 3"]
ONE = Cost("exponential", Fraction(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def account(
    path: Path, run: str = "a", units: list[bytes] = UNITS, limit: int = 3, lifetime: int = 3, **kw
) -> Account:
    return Ledger(path).enrol(
        run, units, kw.get("relation", "replace-one"), Limits(Fraction(limit), Fraction(lifetime))
    )


def query(number: int, run: str = "a") -> Query:
    return Query(run, number, "cut")


def choice(name: str = "x"):
    return lambda: (Chosen(name, "0" * 64),)


def never():
    raise AssertionError("drawn again")


def test_a_query_is_drawn_once_and_answered_from_record_ever_after(path):
    first = account(path).pay(query(1), ONE, choice())
    assert account(path).pay(query(1), ONE, never) == first
    assert len(account(path).receipts()) == 1


def test_what_is_over_the_budget_is_not_drawn(path):
    mine = account(path)
    for number in range(3):
        mine.pay(query(number), ONE, choice())
    with pytest.raises(BudgetError, match=r"asked epsilon=1, 0 left in this run"):
        mine.pay(query(4), ONE, never)


def test_a_draw_that_fails_costs_nothing(path):
    mine = account(path)
    with pytest.raises(ZeroDivisionError):
        mine.pay(query(1), ONE, lambda: (Chosen("x", str(1 // 0)),))
    assert mine.receipts() == ()


def test_a_second_run_on_the_same_data_sees_what_was_spent(path):
    account(path).pay(query(1), ONE, choice())
    other = account(path, run="b")
    assert other.spent_before() == 1
    with pytest.raises(BudgetError, match="earlier runs already spent epsilon=1 on these data"):
        other.require(Fraction(3))
    account(path, run="b", lifetime=4).require(Fraction(3))


def test_a_run_that_shares_one_unit_sees_what_was_spent(path):
    account(path).pay(query(1), ONE, choice())
    assert account(path, run="b", units=[b"unit 3", b"unit 9"]).spent_before() == 1
    assert account(path, run="c", units=[b"unit 8"]).spent_before() == 0


def test_a_run_cannot_be_continued_with_other_data(path):
    account(path)
    with pytest.raises(LedgerError, match="not those that this run began with"):
        account(path, units=[b"unit 1"])


def test_relations_cannot_be_mixed_on_the_same_data(path):
    account(path)
    with pytest.raises(LedgerError, match="another neighbour relation"):
        account(path, run="b", relation="add-remove")


def test_fingerprints_reveal_nothing_without_the_key(path):
    account(path)
    stored = [row[0] for row in sqlite3.connect(path).execute("SELECT fingerprint FROM units")]
    assert len(stored) == 3
    assert all(len(each) == 32 and each not in UNITS for each in stored)
    assert b"unit 1" not in path.read_bytes()


def test_files_are_for_the_owner_alone(path):
    account(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_suffix(".key").stat().st_mode & 0o777 == 0o600


def test_a_damaged_ledger_is_refused_and_left_alone(path):
    account(path).pay(query(1), ONE, choice())
    data = b"garbage" + path.read_bytes()[7:]
    path.write_bytes(data)
    with pytest.raises(LedgerError, match="nothing was spent"):
        Ledger(path)
    assert path.read_bytes() == data


def test_a_foreign_database_is_refused(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.commit()
    path.with_suffix(".key").write_bytes(bytes(32))
    with pytest.raises(LedgerError, match="is not a ledger of this version"):
        Ledger(path)


def test_a_ledger_without_its_key_is_refused(path):
    account(path)
    path.with_suffix(".key").unlink()
    with pytest.raises(LedgerError, match="cannot recognise data"):
        Ledger(path)


def test_asking_for_a_ledger_that_is_not_there_makes_none(path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(path, create=False)
    assert not path.exists()


def test_runs_are_listed_with_what_they_spent(path):
    account(path).pay(query(1), ONE, choice())
    account(path, run="b", units=[b"other"])
    rows = Ledger(path).runs()
    assert [(row.run_id, row.units, row.draws, row.epsilon) for row in rows] == [
        ("a", 3, 1, 1.0),
        ("b", 1, 0, 0.0),
    ]


def _race(path: Path, number: int, results) -> None:
    try:
        account(path, limit=1, lifetime=1).pay(query(number), ONE, choice(str(number)))
        results.put("won")
    except BudgetError:
        results.put("refused")


def test_of_processes_racing_for_the_last_of_the_budget_exactly_one_wins(path):
    account(path, limit=1, lifetime=1)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    racers = [context.Process(target=_race, args=(path, number, results)) for number in range(4)]
    for racer in racers:
        racer.start()
    outcomes = sorted(results.get(timeout=60) for _ in racers)
    for racer in racers:
        racer.join()
    assert outcomes == ["refused", "refused", "refused", "won"]


def _die(path: Path) -> None:
    account(path).pay(query(1), ONE, lambda: os.kill(os.getpid(), signal.SIGKILL))  # type: ignore[arg-type]


def test_a_process_killed_while_drawing_has_released_and_spent_nothing(path):
    account(path)
    victim = multiprocessing.get_context("fork").Process(target=_die, args=(path,))
    victim.start()
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert account(path).receipts() == ()
    account(path).pay(query(1), ONE, choice())
