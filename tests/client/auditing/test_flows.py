"""What crossed the wire by a capture, and what by the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.auditing import Audit, flows
from pcevolve.auditing.flows import read_flows
from pcevolve.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.errors import TranscriptError
from support.forge import faults_of
from support.provider import FakeProvider
from support.recorder import Recorded
from support.runs import SmallRun, small_plan

REFUSAL = json.dumps({"code": "DataInspectionFailed", "message": "no"}).encode()


def refuse(body: bytes = REFUSAL) -> Incoming:
    return Incoming(400, (("content-type", "application/json"),), body)


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


def test_a_capture_of_another_format_is_named_by_forty_characters(tmp_path: Path):
    capture = tmp_path / "capture"
    opened = {"event": "opened", "time": 0.0, "format": "x" * 41, "recorder": "r"}
    capture.write_text(json.dumps(opened) + "\n")
    with pytest.raises(
        TranscriptError, match=r"^capture line 1 was .* as 'x{40}': audit it with that version$"
    ):
        read_flows(capture)


def test_a_capture_has_at_most_a_tebibyte_and_a_line_half_a_gibibyte(tmp_path: Path, monkeypatch):
    read: list[int] = []

    class Opened:
        """A file without content."""

        def __init__(self, path: Path, most: int) -> None:
            read.append(most)

        def __enter__(self) -> Opened:
            return self

        def __exit__(self, *error: object) -> None:
            """Nothing is open."""

        def readline(self, most: int) -> bytes:
            read.append(most)
            return b""

    monkeypatch.setattr(flows, "open_file", Opened)
    with pytest.raises(TranscriptError, match="does not begin with an opening line"):
        read_flows(tmp_path / "capture")
    assert read == [1_099_511_627_776, 536_870_912]
