"""Data, ledger and run that lie in each other are refused before anything is made."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.run.places import require_apart
from support.folders import class_folders


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a folder of data, and links to it."""
    monkeypatch.chdir(tmp_path)
    class_folders(tmp_path / "scans", 1)
    for name in ("units.csv", "secrets.txt"):
        Path(name).touch()
    Path("link").symlink_to("scans")
    Path("runs/deep").mkdir(parents=True)
    Path("table.csv").write_text("text,label\n")
    return tmp_path


def settle(**changes: object) -> RunConfig:
    options = {
        "private": "scans",
        "domain": "scan",
        "out": "runs/new",
        "ledger": "state/ledger.sqlite",
        **changes,
    }
    return RunConfig.of({name: str(value) for name, value in options.items()})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"private": "table.csv", "dialect": "chat"},
        {"test": "scans", "unit_map": "units.csv"},
        {"private": "digits:3,5", "ledger": "runs-ledger/ledger.sqlite"},
        {"private": "scans/../scans", "out": "scans/../runs/new"},
        {"private": "link", "out": "link-runs/new"},
        {"unit_map": "scans/units.csv"},
        {"private": "cells", "test": "cells", "out": ".", "ledger": "../state/ledger.sqlite"},
    ],
)
def test_what_lies_beside_each_other_is_let_through(there: Path, changes: dict[str, object]):
    require_apart(settle(**changes))


@pytest.mark.parametrize(
    ("changes", "said", "advice"),
    [
        ({"out": "scans/new"}, "--out scans/new lies in *scans, which is private", "give --out a folder"),
        ({"out": "link/good/new"}, "--out link/good/new lies in *scans", "give --out a folder elsewhere"),
        ({"out": "runs/../scans/new"}, "--out * lies in *scans", "give --out a folder elsewhere"),
        ({"out": "scans"}, "--out scans lies in *scans", "give --out a folder elsewhere"),
        (
            {"out": "."},
            "the ledger *state/ledger.sqlite lies in ., the run's folder, which may be shared",
            "move it",
        ),
        ({"test": "runs/new/test"}, "--test */runs/new/test lies in runs/new, the run's folder", "move it"),
        ({"unit_map": "runs/new/units.csv"}, "--unit-map *units.csv lies in runs/new", "move it elsewhere"),
        ({"private": "runs/new/x.csv", "dialect": "chat"}, "--private *x.csv lies in runs/new", "move it"),
        (
            {"ledger": "ledger.sqlite"},
            "--out runs/new lies in *, the ledger's folder, which is private",
            "give the ledger a folder of its own: privacy.ledger=*/ledger/ledger.sqlite",
        ),
        (
            {"ledger": "runs/ledger.sqlite"},
            "--out runs/new lies in *runs, the ledger's",
            "give",
        ),
        (
            {"ledger": "runs/../units.sqlite", "out": "/elsewhere/new"},
            "--private *scans lies in *, the ledger's folder",
            "give the ledger a folder of its own",
        ),
        ({"ledger": "scans/ledger.sqlite"}, "the ledger *scans/ledger.sqlite lies in *scans", "move it"),
        ({"ledger": "link/deep/l.sqlite"}, "the ledger *link/deep/l.sqlite lies in *scans", "move it"),
        ({"ledger": "runs/new/l.sqlite"}, "the ledger *l.sqlite lies in runs/new, the run's", "move it"),
        ({"private": sys.prefix}, "--private * lies in *, from which Python loads its modules", "move it"),
        ({"from_run": "runs"}, "--out runs/new lies in *runs, the folder of the run that it starts", "give"),
    ],
)
def test_what_lies_in_each_other_is_refused_with_what_to_move(
    there: Path, changes: dict[str, object], said: str, advice: str
):
    before = sorted(there.rglob("*"))
    parts = [re.escape(each).replace(r"\*", ".*") for each in (said, advice)]
    with pytest.raises(UsageError, match=f"^{parts[0]}.*: {parts[1]}"):
        require_apart(settle(**changes))
    assert sorted(there.rglob("*")) == before


def test_a_ledger_that_has_been_used_is_moved_with_its_key(there: Path):
    Path("ledger.key").touch()
    with pytest.raises(UsageError, match="a folder of its own, and move what is of the ledger there: "):
        require_apart(settle(ledger="ledger.sqlite"))
