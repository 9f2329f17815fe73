"""What an owner types is looked at before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pcevolve.app.session.joining import JoinedFolder, Joining
from pcevolve.errors import DataError, UsageError


def make(root: Path, url: str = "https://coordinator.example", **own: Any) -> Joining:
    (root / "private").mkdir(exist_ok=True)
    options = {
        "private": str(root / "private"), "roster": str(root / "roster.toml"), "key": str(root / "own.key"),
        "folder": str(root / "joined"), "ledger": str(root / "own" / "ledger.sqlite"), "unit_map": None,
        "texts": [None, None], "weights": None, "lifetime": None, **own,
    }  # fmt: skip
    return Joining(url, options, None, yes=True)


def test_an_owners_data_run_and_ledger_lie_beside_each_other(tmp_path):
    assert make(tmp_path).check().folder.root == tmp_path / "joined"
    with pytest.raises(UsageError, match="lies in"):
        make(tmp_path, folder=str(tmp_path / "private" / "joined")).check()
    with pytest.raises(UsageError, match="lies in"):
        make(tmp_path, ledger=str(tmp_path / "private" / "ledger.sqlite")).check()


@pytest.mark.parametrize("url", ["ftp://coordinator", "coordinator:8440", "", "https://"])
def test_what_is_no_address_is_refused(tmp_path, url):
    with pytest.raises(UsageError):
        make(tmp_path, url).check()


def test_data_that_are_not_there_are_told_before_anything_is_started(tmp_path):
    with pytest.raises(DataError, match="no such folder or file"):
        make(tmp_path, private=str(tmp_path / "none")).check()


def test_a_run_that_was_cut_off_goes_on_by_the_same_command(tmp_path):
    assert JoinedFolder(tmp_path).resume_command == "the same command"
