"""Whoever waits for a ledger says so at once, and for whom; whoever holds it is another process, as in earnest."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger import holder, store
from pcevolve.keeper.ledger.history import LedgerBook
from support.accounts import UNITS, budget, outcome, query

HELD_SECONDS = 2.0


@contextmanager
def held(path: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[int]:
    """Another process holds the lock for a while; its number."""
    context = multiprocessing.get_context("fork")
    ready = context.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(begin)
            ready.set()
            time.sleep(HELD_SECONDS)
        os._exit(0)

    process = context.Process(target=hold)
    process.start()
    assert ready.wait(60)
    yield process.pid or 0
    process.join(60)


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_run_that_waits_for_the_ledger_says_at_once_for_which_process(path, begin):
    told: list[tuple[float, str]] = []
    LedgerBook(path).close()
    with held(path, begin) as pid:
        began = time.monotonic()
        with closing(
            LedgerBook(path, waiting=lambda said: told.append((time.monotonic() - began, said)))
        ) as ledger:
            mine = ledger.account("a", UNITS, "replace-one", budget(1)).enrol()
            mine.pay(query(1), [], outcome())
        assert time.monotonic() - began > HELD_SECONDS / 2
    assert len(told) == 1
    after, said = told[0]
    assert after < HELD_SECONDS / 2
    assert said.startswith(f"waiting for the ledger {path}: process {pid} (")
    assert said.endswith(") is writing to it")


def test_nobody_is_told_of_a_wait_that_is_none(path):
    told: list[str] = []
    with closing(LedgerBook(path, waiting=told.append)) as ledger:
        ledger.account("a", UNITS, "replace-one", budget(1)).enrol()
    assert told == []


def test_a_wait_that_is_given_up_names_who_was_waited_for(path, monkeypatch):
    monkeypatch.setattr(store, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(store, "PATIENCE_SECONDS", 0.05)
    ledger = LedgerBook(path)
    with held(path) as pid, closing(ledger), pytest.raises(LedgerError, match="is in use by") as refused:
        ledger.set_cap(budget(1).run)
    assert f"ledger {path} is in use by process {pid} (" in str(refused.value)


def test_where_the_system_does_not_tell_it_is_another_process(path, monkeypatch, tmp_path):
    LedgerBook(path).close()
    assert holder.find_holder(path) == "another process"
    assert holder.find_holder(tmp_path / "none") == "another process"
    inode = path.stat().st_ino
    for text, told in (
        ("", "another process"),
        ("2: odd", "another process"),
        (f"2: POSIX ADVISORY WRITE 0 fe:00:{inode} 1073741825 1073741825", "another process"),
        (f"2: POSIX ADVISORY WRITE 4999999 fe:00:{inode} 1073741825 1073741825", "process 4999999"),
        (f"2: POSIX ADVISORY WRITE 4999999 fe:00:{inode + 1} 1073741825 1073741825", "another process"),
    ):
        (tmp_path / "locks").write_text(text)
        monkeypatch.setattr(holder, "LOCKS", tmp_path / "locks")
        assert holder.find_holder(path) == told
