"""A ledger that was edited, cut or corrupted is refused and left as it is; it never starts again from nothing."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger import store
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.store import APPLICATION_ID
from pcevolve.public.privacy import Event
from support.accounts import ONE, UNITS, budget, outcome, query
from support.damage import assert_refused, contents
from support.examples import examples, is_nightly

PAGE = 4096
HEADER = 100  # bytes of an SQLite file that describe the file


@pytest.fixture
def path(original, tmp_path) -> Path:
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy" / "ledger.sqlite"


def is_refused(path: Path, expected: list[Any]) -> bool:
    """True if a ledger is refused, in which case it is untouched; otherwise it says what it always said."""
    before = path.read_bytes()
    try:
        assert contents(path) == expected
    except LedgerError:
        assert path.read_bytes() == before
        return True
    return False


def test_a_flipped_byte_anywhere_is_refused_or_changes_nothing(original, path):
    expected, data = contents(path), path.read_bytes()
    chosen = random.Random(1)
    tried = examples(1200)
    places = sorted({*range(HEADER), *chosen.sample(range(HEADER, len(data)), tried)})
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= chosen.choice([0xFF, 1 << chosen.randrange(8)])
        path.write_bytes(damaged)
        refused += is_refused(path, expected)
    assert len(places) == HEADER + tried
    assert len(places) * 0.45 < refused < len(places)


def test_a_ledger_that_still_works_after_a_flipped_byte_can_be_paid_from(path):
    expected, data = contents(path), path.read_bytes()
    worked = 0
    for place in range(HEADER):
        for mask in (0x01, 0x02, 0x80, 0xFF) if is_nightly() else (0x01, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= mask
            path.write_bytes(damaged)
            if not is_refused(path, expected):
                worked += goes_on(path)
    assert worked > 25


def goes_on(path: Path) -> bool:
    """True if a payment is accepted; then it is on record, and otherwise nothing is lost."""
    event = Event("exponential", "1/2")
    try:
        with closing(LedgerBook(path)) as ledger:
            ledger.account("a", UNITS, "replace-one", budget(6)).enrol().pay(query(3), [event], outcome())
    except LedgerError:
        accepted = False
    else:
        accepted = True
    with closing(LedgerBook(path)) as ledger:
        assert [row.epsilon for row in ledger.runs()] == [2.5 if accepted else 2.0, 2.0]
    return accepted


def test_a_ledger_cut_anywhere_is_refused(path):
    expected, data = contents(path), path.read_bytes()
    edges = [edge + by for edge in range(0, len(data) + 1, PAGE) for by in (-1, 0, 1)]
    places = [each for each in [*edges, 16, HEADER, 1000] if 0 <= each < len(data)]
    for place in places:
        path.write_bytes(data[:place])
        # SQLite fills a page up with zeros, and one digest in 256 that ends a page ends in one.
        assert is_refused(path, expected) or data[place:] == b"\0", place
    assert len(places) > 15


def test_a_page_of_zeros_anywhere_is_refused(path):
    expected, data = contents(path), path.read_bytes()
    for start in range(0, len(data), PAGE):
        path.write_bytes(data[:start] + bytes(PAGE) + data[start + PAGE :])
        assert is_refused(path, expected), start


LAST = "(SELECT max(number) FROM rows)"


@pytest.mark.parametrize(
    "edit",
    [
        f"DELETE FROM rows WHERE number = {LAST}",
        "DELETE FROM rows WHERE number = 3",
        "DELETE FROM rows WHERE name != ''",
        "DELETE FROM rows",
        'UPDATE rows SET content = replace(content, \'"parameter": "1"\', \'"parameter": "0"\') WHERE number = 2',
        "UPDATE rows SET private = x'00' WHERE number = 3",
        "UPDATE rows SET run_id = 'c' WHERE number = 2",
        "UPDATE rows SET name = '009' WHERE number = 2",
        "UPDATE rows SET number = -number; UPDATE rows SET number = 7 + number",
        "UPDATE rows SET seal = (SELECT seal FROM rows WHERE number = 1) WHERE number = 2",
        "UPDATE rows SET content = CAST(content AS TEXT) WHERE number = 2",
        "UPDATE rows SET content = 5 WHERE number = 2",
        "UPDATE rows SET run_id = CAST(x'ff' AS TEXT) WHERE number = 2",
        f"INSERT INTO rows SELECT {LAST} + 1, run_id, '003', content, private, seal FROM rows WHERE number = 2",
        "INSERT INTO rows SELECT 99, run_id, '003', content, private, seal FROM rows WHERE number = 2",
        "UPDATE head SET count = 1",
        "UPDATE head SET seal = x''",
        "DELETE FROM head",
        "INSERT INTO head SELECT * FROM head",
        "DROP TABLE head",
        "DROP TABLE rows",
        "DELETE FROM rows WHERE number = 6; UPDATE head SET count = 5",
        "CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows WHERE number = 2; END",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_a_ledger_that_was_edited_is_refused(path, edit):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(edit)
    assert_refused(path, "damaged|nothing was released")


def test_a_row_of_a_copy_that_went_another_way_is_refused(path, tmp_path):
    """Its seal is the key's own, and so is its number."""
    shutil.copytree(path.parent, tmp_path / "other")
    other = tmp_path / "other" / path.name
    for each, rounds in ((path, (3, 4)), (other, (9,))):
        with closing(LedgerBook(each)) as ledger:
            mine = ledger.account("a", UNITS, "replace-one", budget(9)).enrol()
            for number in rounds:
                mine.pay(query(number), [ONE], outcome())
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS other", (str(other),))
        db.execute("DELETE FROM rows WHERE number = 7")
        db.execute("INSERT INTO rows SELECT * FROM other.rows WHERE number = 7")
        db.commit()
    assert_refused(path, "row 8 was changed, or an earlier row is missing")


def test_a_ledger_that_is_edited_while_it_is_open_is_refused_too(path):
    with closing(LedgerBook(path)) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(6)).enrol()
        with closing(sqlite3.connect(path)) as db:
            db.executescript("UPDATE rows SET private = x'00' WHERE number = 2")
        with pytest.raises(LedgerError, match="a row changed while it was open"):
            mine.read_measured(1)


def test_an_older_copy_put_in_place_while_it_is_open_is_refused(path):
    with closing(LedgerBook(path)) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(6)).enrol()
        older = path.read_bytes()
        mine.pay(query(3), [ONE], outcome())
        mine.receipts()
        path.write_bytes(older)
        with pytest.raises(LedgerError, match="last rows are missing"):
            mine.receipts()


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_damaged_key_is_refused(path, key):
    path.with_suffix(".key").write_bytes(key)
    assert_refused(path, r"ledger\.key is damaged")


def test_a_foreign_database_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")
    path.with_suffix(".key").write_bytes(bytes(32))
    assert_refused(path, "is not a ledger of this version")


def version_one(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, relation TEXT NOT NULL);"
            f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version=1;"
        )
    path.with_suffix(".key").write_bytes(bytes(32))


def test_a_ledger_of_an_earlier_version_is_refused_and_left_alone(tmp_path):
    version_one(tmp_path / "ledger.sqlite")
    assert_refused(
        tmp_path / "ledger.sqlite", "made by an earlier version of pcevolve, in format 1, and was not changed"
    )


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
    assert store.find_holder(path) == "another process"
    assert store.find_holder(tmp_path / "none") == "another process"
    inode = path.stat().st_ino
    for text, told in (
        ("", "another process"),
        ("2: odd", "another process"),
        (f"2: POSIX ADVISORY WRITE 0 fe:00:{inode} 1073741825 1073741825", "another process"),
        (f"2: POSIX ADVISORY WRITE 4999999 fe:00:{inode} 1073741825 1073741825", "process 4999999"),
        (f"2: POSIX ADVISORY WRITE 4999999 fe:00:{inode + 1} 1073741825 1073741825", "another process"),
    ):
        (tmp_path / "locks").write_text(text)
        monkeypatch.setattr(store, "LOCKS", tmp_path / "locks")
        assert store.find_holder(path) == told
