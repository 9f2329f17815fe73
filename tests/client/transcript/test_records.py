"""Lines of a transcript: one spelling each, fixed reasons, and a clear word for those of another version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from pcevolve.errors import TranscriptError
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import Failed, Line, Sent, from_event
from support.forge import forge
from support.paid import paid_run
from support.runs import SmallRun, small_plan

FORMATS = ["pcevolve-transcript/", "pcevolve-plan/"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return paid_run(tmp_path, small_plan())


def test_a_reason_is_one_of_a_fixed_list():
    with pytest.raises(ValidationError, match="cut off"):
        Failed(slot="hello", reason="patient 17 was here")  # type: ignore[arg-type]


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


@pytest.mark.parametrize("kind", FORMATS)
def test_a_run_of_another_format_is_told_from_a_damaged_one(run: Path, kind: str):
    def change(events):
        return [json.loads(re.sub(rf"{kind}\d+", f"{kind}1", json.dumps(each))) for each in events]

    with pytest.raises(TranscriptError, match=rf"written by another version \(format {kind}1;"):
        forge(run, change)


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
