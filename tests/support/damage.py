"""Ledgers that were damaged; for tests only."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.history import LedgerBook
from support.accounts import UNITS, budget


def contents(path: Path) -> list[Any]:
    """All that a ledger says."""
    with closing(LedgerBook(path)) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(6)).enrol()
        other = ledger.account("b", UNITS[1:], "replace-one", budget(6)).enrol()
        spent = [each.compute_spent_before() for each in (mine, other)]
        kept = [each.read_measured(number) for each in (mine, other) for number in (1, 2)]
        return [ledger.runs(), ledger.history(), ledger.export(), spent, kept]


def assert_refused(path: Path, match: str) -> None:
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=match):
        contents(path)
    assert path.read_bytes() == before
