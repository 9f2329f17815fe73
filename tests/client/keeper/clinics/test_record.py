"""An owner's copy of the record: each release is checked before the next is answered."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from pcevolve.app.cli.commands import app
from pcevolve.errors import ProtocolError
from pcevolve.keeper.clinics.record import find_plan
from pcevolve.keeper.continuity import find_disagreement, find_fault
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.clinics import messages
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.chain import digest
from pcevolve.public.transcript.reader import RunReader
from support.clinics import Together, bring_together
from support.forge import Event, forge


@pytest.fixture
def finished(tmp_path: Path, clinics_api: str) -> Together:
    made = bring_together(tmp_path, clinics_api, appearance="as-is")
    made.carry_out()
    return made


def check(made: Together) -> None:
    owner = made.make_owner(0)
    owner.consider(messages.Consider())
    owner.check(messages.Check())
    owner.close()


def test_an_honest_record_is_taken_in_to_its_end(finished):
    check(finished)


def test_a_record_that_grows_is_taken_in_from_where_it_was_left(finished):
    log = finished.run.folder.root / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:4]))
    owner = finished.make_owner(0)
    owner.consider(messages.Consider())
    for number in range(4, len(lines) + 1):
        log.write_bytes(b"".join(lines[:number]))
        owner.check(messages.Check())
        assert owner._work.record.head == digest(lines[number - 1])
    owner.close()


def choose_otherwise(event: Event) -> None:
    if event["kind"] == "released":
        event["receipt"]["choices"][0]["chosen"].reverse()


def drop_answers(event: Event) -> None:
    event.pop("answers", None)


def bring_more(event: Event) -> None:
    event.get("outputs", []).extend(event.get("outputs", [])[:1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (choose_otherwise, "does not follow"),
        (drop_answers, "not all accesses"),
        (bring_more, "does not ask for"),
    ],
)
def test_a_record_of_a_coordinator_that_lies_is_refused(finished, change, said):
    forge(finished.run.folder.root, lambda events: [change(each) for each in events] and events)
    with pytest.raises(ProtocolError, match=said):
        check(finished)


def test_a_record_without_a_plan_for_several_is_none(tmp_path):
    (tmp_path / "transcript").mkdir()
    (tmp_path / "transcript" / "log.jsonl").write_bytes(b"")
    with pytest.raises(ProtocolError, match="no plan for several owners"):
        find_plan(RunFolder(tmp_path))


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
