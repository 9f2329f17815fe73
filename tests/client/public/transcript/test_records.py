"""Events of a record survive their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.chain import Line
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Opened, from_event
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path, small_plan())


def test_every_event_survives_its_line(run: Path):
    for raw in (run / "transcript" / "log.jsonl").read_bytes().splitlines(keepends=True):
        line = Line.model_validate(json.loads(raw))
        assert line.encode() == raw
        assert from_event(line.event).model_dump(mode="json") == line.event


@pytest.mark.parametrize(
    ("status", "body", "succeeded", "tells"),
    [
        (200, "{}", True, True),
        (200, '{"error": {"message": "no"}}', False, False),
        (400, "{}", False, True),
        (422, "{}", False, True),
        (401, "{}", False, False),
        (500, "{}", False, False),
        (200, None, True, True),
    ],
)
def test_an_answer_says_by_status_and_body_if_it_is_one(status, body, succeeded, tells):
    ref = BodyRef(sha256="0" * 64, text=body, size=len(body or ""))
    answer = Answered(slot="trial", status=status, headers=(), body=ref, wire_bytes=0)
    assert (answer.succeeded, answer.states_number) == (succeeded, tells)


def test_a_record_says_no_more_than_it_must_and_nothing_can_be_added_or_changed(run: Path):
    opened = Opened(run_id="0" * 32, api="http://127.0.0.1:9", dialect="getimg")
    assert (opened.greets, opened.proxied, opened.authority, opened.format) == (True, False, None, 3)
    line = Line(seq=0, prev="0" * 64, event={})
    for record in (opened, line):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(record, next(iter(type(record).model_fields)), "other")
        with pytest.raises(ValidationError, match="more"):
            type(record).model_validate({**record.model_dump(), "more": 1})


def test_a_manifest_has_one_spelling_and_its_files_are_named_by_class_and_name(run: Path):
    manifest = RunReader.strict(run).manifest()
    written = (run / "release" / "manifest.json").read_bytes()
    assert manifest.encode() == written
    assert written.startswith(b'{\n "files": [\n  {\n   "candidate": ')
    assert written.endswith(b"}\n")
    assert {(each.label, each.name) for each in manifest.files} == {
        (path.parent.name, path.name) for path in (run / "release").rglob("*.png")
    }
