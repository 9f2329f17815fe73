"""Events of a record survive their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.transcript.records import Line, from_event
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
