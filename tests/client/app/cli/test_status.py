"""What a ledger knows, told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pcevolve.keeper.ledger.ledger import Ledger
from support.probing import run_to_end


@pytest.mark.system
def test_what_a_ledger_knows_is_told_without_what_only_a_run_needs(tmp_path):
    made = str(tmp_path / "ledger.sqlite")
    Ledger(Path(made)).close()
    found = run_to_end(["status", "--ledger", made], ["budget", "show", "--ledger", made])
    assert [(code, loaded) for code, _, loaded in found] == [(0, [])] * 2


def test_a_run_is_listed_with_its_state_by_the_record_that_lies_in_its_folder(evolved, command, tmp_path):
    run, ledger = evolved().folder, ("--ledger", tmp_path / "ledger" / "ledger.sqlite")
    (row,) = json.loads(command("status", *ledger, "--json").out)
    assert (row["state"], row["folder"]) == ("finished", str(run))
    assert command("status", *ledger).out.startswith("finished")
    shutil.rmtree(run)
    (row,) = json.loads(command("status", *ledger, "--json").out)
    assert row["state"] == "gone"
