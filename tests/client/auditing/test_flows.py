"""What crossed the wire by a capture, and what by the record."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from client.auditing.captured import (
    ANSWERS,
    change_lines,
    faults,
    other_body,
    refuse,
    rewrite,
)
from pcevolve.auditing import Audit, flows
from pcevolve.auditing.capture import reconcile
from pcevolve.auditing.flows import read_flows
from pcevolve.errors import TranscriptError
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from support.forge import faults_of
from support.provider import FakeProvider
from support.recorder import Recorded
from support.runs import SmallRun, small_plan


class Lying:
    """Hangs up on chosen requests, and takes down a refusal that nobody gave."""

    def __init__(self, recorder: Recorded) -> None:
        self._recorder = recorder

    def send(self, request: Outgoing) -> Incoming:
        try:
            return self._recorder.send(request)
        except ConnectionTroubleError:
            return refuse()

    def close(self) -> None:
        self._recorder.close()


@pytest.mark.parametrize("skipped", [(), (1, 4)])
def test_a_capture_shows_a_refusal_that_the_api_never_gave(tmp_path: Path, skipped: tuple[int, ...]):
    """By which calls he gives up he could say anything: what varies their images is not sent."""
    heard: list[Outgoing] = []

    def hang_up(request: Outgoing) -> str:
        if request.method == "POST" and b'"image"' not in request.body:
            heard.append(request)
            return "unpassed" if len(heard) - 1 in skipped else ""
        return ""

    capture = tmp_path / "capture"
    recorder = Recorded(FakeProvider(), capture, "secret-key", hang_up)
    plan = small_plan(candidates=6, initial=6, batch=1, lookahead=1, iterations=1, strengths=(0.8,))
    run = SmallRun.open(tmp_path / "run", plan, Lying(recorder))
    run.finish()
    run.close()
    audit = Audit.of(tmp_path / "run", capture=capture)
    assert audit.holds is not bool(skipped)
    assert faults_of(tmp_path / "run") == []


def test_a_capture_has_at_most_a_tebibyte_and_a_line_half_a_gibibyte(tmp_path: Path, monkeypatch):
    opened = MagicMock()
    readline = opened.return_value.__enter__.return_value.readline
    readline.return_value = b""
    monkeypatch.setattr(flows, "open_file", opened)
    with pytest.raises(TranscriptError, match="does not begin with an opening line"):
        read_flows(tmp_path / "capture")
    opened.assert_called_once_with(tmp_path / "capture", 1_099_511_627_776)
    readline.assert_called_once_with(536_870_912)


def test_a_torn_last_line_is_noted_and_counts_for_nothing(copied: Path):
    path = copied / "capture.jsonl"
    with path.open("ab") as file:
        file.write(b'{"event":"request","flow":99,"meth')
    assert faults(copied) == {}
    assert "last line is torn" in reconcile(RunReader.strict(copied), path)[0].claim


def test_a_capture_that_was_cut_short_is_told(copied: Path):
    path = copied / "capture.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert list(faults(copied)) == [ANSWERS]


DAMAGES = {
    "no capture": (lambda lines: lines[1:], "no capture: it does not begin with an opening line"),
    "another format": (
        lambda lines: [{**lines[0], "format": "pcevolve-capture/9"}, *lines[1:]],
        "line 1 was written by another version's recorder, as 'pcevolve-capture/9': audit it with that version",
    ),
    "body": (
        lambda lines: change_lines(lines, 2, "request", body={**other_body(b"a"), "base64": "Yg=="}),
        "does not match its SHA-256",
    ),
    "not base64": (
        lambda lines: change_lines(lines, 2, "request", body={**other_body(b"a"), "base64": "ä"}),
        "is damaged",
    ),
    "unknown field": (lambda lines: change_lines(lines, 2, "request", more=1), "line 4 is damaged"),
    "answer to nothing": (lambda lines: [*lines, {**lines[2], "flow": 77}], "does not follow"),
    "two answers": (lambda lines: [*lines, lines[2]], "does not follow"),
    "one number twice": (lambda lines: [*lines, lines[1]], "does not follow"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_capture_is_refused(copied: Path, name: str):
    change, message = DAMAGES[name]
    rewrite(copied, change)
    with pytest.raises(TranscriptError, match=message):
        read_flows(copied / "capture.jsonl")


def test_a_missing_or_empty_capture_is_refused(copied: Path):
    (copied / "capture.jsonl").write_bytes(b"")
    with pytest.raises(TranscriptError, match="is no capture"):
        read_flows(copied / "capture.jsonl")
    (copied / "capture.jsonl").unlink()
    with pytest.raises(TranscriptError, match="cannot be read: No such file"):
        read_flows(copied / "capture.jsonl")
