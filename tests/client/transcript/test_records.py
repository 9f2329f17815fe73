"""Lines of a transcript: one spelling each, fixed reasons, and a clear word for those of another version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import Failed, Line, Sent, from_event
from support.forge import forge
from support.paid import paid_run
from support.runs import SmallRun, small_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return paid_run(tmp_path, small_plan())


def test_a_request_whose_process_was_killed_is_ended_when_the_run_goes_on(tmp_path: Path):
    run = SmallRun.open(tmp_path)
    run.close()
    log = tmp_path / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    asked = next(index for index, line in enumerate(lines) if json.loads(line)["event"]["kind"] == "sent")
    log.write_bytes(b"".join(lines[: asked + 1]))
    opened = Transcript(tmp_path / "transcript")
    opened.close()
    last, before = opened.entries[-1].record, opened.entries[-2].record
    assert isinstance(before, Sent)
    assert last == Failed(slot=before.slot, reason="cut off")


OLD = "was made by pcevolve 0.1: audit it, or go on with it, with that version"
NEW = r"was made by a later pcevolve \(format 3, and this one reads 2\): use that version"


@pytest.mark.parametrize(
    ("written", "said"), [(None, OLD), ("pcevolve-transcript/2", OLD), (1, OLD), (3, NEW)], ids=str
)
def test_a_run_of_another_version_is_refused_in_a_sentence_and_left_as_it_is(run: Path, written, said: str):
    log = run / "transcript" / "log.jsonl"
    number = b"" if written is None else f'"format":{json.dumps(written)},'.encode()
    log.write_bytes(log.read_bytes().replace(b'"format":2,', number, 1))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for act in (
        RunLayout(run).require_transcript,
        lambda: RunReader.lenient(run),
        lambda: Transcript(log.parent),
    ):
        with pytest.raises(UsageError, match=said):
            act()
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.parametrize("value", [2.0, "2"])
def test_a_number_has_one_spelling(run: Path, value: object):
    def change(events):
        next(each for each in events if each["kind"] == "planned")["plan"]["iterations"] = value
        return events

    with pytest.raises(TranscriptError, match="was edited"):
        forge(run, change)


def test_a_receipt_with_an_extra_key_is_no_record(run: Path):
    def change(events):
        next(each for each in events if each["kind"] == "released")["receipt"]["note"] = "ward 3"
        return events

    with pytest.raises(TranscriptError, match=r"was edited|is damaged"):
        forge(run, change)


def test_every_event_survives_its_line(run: Path):
    for raw in (run / "transcript" / "log.jsonl").read_bytes().splitlines(keepends=True):
        line = Line.model_validate(json.loads(raw))
        assert line.encode() == raw
        assert from_event(line.event).model_dump(mode="json") == line.event
