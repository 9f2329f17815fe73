"""What a ledger knows, told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.keeper.ledger.ledger import Ledger
from support.probing import run_to_end

pytestmark = pytest.mark.system


def test_what_a_ledger_knows_is_told_without_what_only_a_run_needs(tmp_path):
    made = str(tmp_path / "ledger.sqlite")
    Ledger(Path(made)).close()
    found = run_to_end(["status", "--ledger", made], ["budget", "show", "--ledger", made])
    assert [(code, loaded) for code, _, loaded in found] == [(0, [])] * 2
