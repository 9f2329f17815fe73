"""A ledger is made whole or not at all, and never anew in the place of one that is gone."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger import creation
from pcevolve.keeper.ledger.ledger import Ledger
from support.damage import assert_refused


@pytest.fixture
def path(original, tmp_path) -> Path:
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy" / "ledger.sqlite"


def test_a_ledger_without_its_key_is_refused(path):
    path.with_suffix(".key").unlink()
    assert_refused(path, "cannot recognise data: restore it")
    assert not path.with_suffix(".key").exists()


def test_the_key_of_another_empty_ledger_is_refused(tmp_path):
    for name in ("one", "two"):
        Ledger(tmp_path / f"{name}.sqlite").close()
    shutil.copy(tmp_path / "one.key", tmp_path / "two.key")
    with pytest.raises(LedgerError, match="its key belongs to another ledger"):
        Ledger(tmp_path / "two.sqlite")


def test_a_ledger_that_was_removed_does_not_start_again_from_nothing(path):
    path.unlink()
    for create in (True, False):
        with pytest.raises(LedgerError, match="is missing, but its key exists: restore the ledger"):
            Ledger(path, create=create)
    assert not path.exists()


def test_a_ledger_whose_key_would_be_another_s_is_told_to_have_another_name(tmp_path):
    Ledger(tmp_path / "budget.2024").close()
    with pytest.raises(
        LedgerError, match=r"budget\.key, which is the key of budget\.2024: choose a ledger name"
    ):
        Ledger(tmp_path / "budget.2025")
    Ledger(tmp_path / "budget.2024").close()


@pytest.mark.parametrize("of", ["ledger", "key"])
def test_a_link_to_a_disk_that_is_not_mounted_is_not_replaced_by_a_new_ledger(path, of):
    link = path if of == "ledger" else path.with_suffix(".key")
    link.unlink(missing_ok=True)
    link.symlink_to(path.parent / "unmounted" / link.name)
    with pytest.raises(LedgerError, match=r"is a link to .*unmounted.*: mount or restore that file"):
        Ledger(path)
    assert link.is_symlink()


def test_an_empty_file_is_not_taken_for_a_new_ledger(path):
    path.write_bytes(b"")
    assert_refused(path, "is empty, but a ledger is never empty")


def test_what_is_left_of_a_removed_ledger_is_not_rolled_into_a_new_one(path):
    path.unlink()
    path.with_suffix(".key").unlink()
    path.with_name("ledger.sqlite-journal").write_bytes(b"pages of the old one")
    with pytest.raises(LedgerError, match="belongs to a ledger that is missing"):
        Ledger(path)
    assert not path.exists()


def test_asking_for_a_ledger_that_is_not_there_makes_none(tmp_path):
    with pytest.raises(LedgerError, match="no ledger yet at"):
        Ledger(tmp_path / "new" / "ledger.sqlite", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_new_ledger_is_closed_to_others(tmp_path):
    path = tmp_path / "new" / "ledger.sqlite"
    Ledger(path).close()
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (path.parent, *path.parent.iterdir())}
    assert modes == {"new": 0o700, "ledger.sqlite": 0o600, "ledger.key": 0o600}


def test_each_name_of_a_new_ledger_is_on_disk_before_the_next_is_given(tmp_path, monkeypatch):
    """What a system may lose with its power is what came after the last ``fsync`` of a folder."""
    on_disk: list[tuple[str, set[str]]] = []
    monkeypatch.setattr(
        creation,
        "sync_folder",
        lambda folder: on_disk.append((folder.name, {each.name for each in folder.iterdir()})),
    )
    path = tmp_path / "new" / "ledger.sqlite"
    Ledger(path).close()
    assert on_disk == [
        (tmp_path.name, {"new"}),
        ("new", {"ledger.sqlite.new", "ledger.key.new"}),
        ("new", {"ledger.sqlite", "ledger.key.new"}),
        ("new", {"ledger.sqlite", "ledger.key"}),
    ]


def test_where_runs_lie_is_read_from_a_ledgers_file_as_it_stands_and_nowhere_else(path, tmp_path):
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            "INSERT INTO rows VALUES (99, 'id', 'x', ?, '', '')", (b'{"origin": {"folder": "/runs/one"}}',)
        )
        file.commit()
    assert "/runs/one" in creation.list_run_folders(path)
    assert creation.list_run_folders(tmp_path / "none.sqlite") == []
    (tmp_path / "other.sqlite").write_bytes(b"no database at all, but long enough to look like one")
    assert creation.list_run_folders(tmp_path / "other.sqlite") == []
    assert not (tmp_path / "none.sqlite").exists()
