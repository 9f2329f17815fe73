"""An owner's copy and its ledger: one story, or a sentence that says so."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from pcevolve.app.cli.commands import app
from pcevolve.keeper.continuity import find_disagreement, find_fault
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.transcript.reader import RunReader
from support.clinics import Together, bring_together


@pytest.fixture
def finished(tmp_path: Path, clinics_api: str) -> Together:
    made = bring_together(tmp_path, clinics_api)
    made.carry_out()
    return made


def look(made: Together, place: int) -> str | None:
    with closing(Ledger(made.folder / f"owner-{place}" / "ledger" / "ledger.sqlite")) as ledger:
        return find_disagreement(RunReader.strict(made.run.folder.root), ledger)


def test_each_owners_answers_are_what_its_ledger_committed(finished):
    assert [look(finished, place) for place in range(3)] == [None, None, None]
    with closing(Ledger(finished.folder / "owner-0" / "ledger" / "ledger.sqlite")) as ledger:
        assert find_fault(RunReader.strict(finished.run.folder.root), ledger) is None


def test_a_run_of_several_is_listed_as_finished(finished):
    ledger = finished.folder / "owner-1" / "ledger" / "ledger.sqlite"
    told = CliRunner().invoke(app, ["status", "--ledger", str(ledger)]).output
    assert told.startswith("finished")


def test_answers_that_the_ledger_has_not_are_counted(finished, monkeypatch):
    paid = Ledger.payments
    monkeypatch.setattr(Ledger, "payments", lambda self, run_id: paid(self, run_id)[:1])
    said = look(finished, 2) or ""
    assert "answers in" in said
    assert "are not what the ledger" in said
