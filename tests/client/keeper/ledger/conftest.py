"""Where a test's ledger lies."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pcevolve.keeper.ledger.ledger import Ledger
from support.accounts import ONE, UNITS, budget, outcome, query


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """A folder with a ledger of two runs, four releases and their measurements."""
    path = tmp_path_factory.mktemp("original") / "ledger.sqlite"
    with closing(Ledger(path)) as ledger:
        for run, units in (("a", UNITS), ("b", UNITS[1:])):
            mine = ledger.account(run, units, "replace-one", budget(6)).enrol()
            for number in (1, 2):
                mine.pay(query(number, run), [ONE], outcome(f"{run}{number}", run.encode() * 3000))
    return path.parent
