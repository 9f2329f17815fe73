"""Runs behind the auditor's recorder, and their captures line by line."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve_shared import wire
from support.paid import make_paid_run
from support.provider import FakeProvider
from support.recorder import Recorded
from support.runs import ADDRESS, small_plan

Line = dict[str, Any]
Change = Callable[[list[Line]], list[Line]]
UNRECORDED = "nothing was sent that is not on record"
UNSENT = "nothing is on record that was not sent"
ANSWERS = "every answer on record is the one that came"


def audit_capture(root: Path, meddle: Callable[[Outgoing], str] = lambda request: "", **plan: object) -> Path:
    """A finished run with its capture beside it; the first requests for images are as many at once as may be."""
    root.mkdir(parents=True, exist_ok=True)
    api = FakeProvider(hold(plan.get("at_once", 1)))
    provider = Recorded(api, root / "capture.jsonl", ADDRESS.key or "", meddle)
    return make_paid_run(root, small_plan(**plan), provider)


def hold(many: int) -> Callable[[Outgoing], None]:
    """Answer none of the first requests for images until so many are under way."""
    first, all_there = iter(range(many)), threading.Barrier(many)

    def wait(request: Outgoing) -> None:
        if not request.url.endswith(wire.MODELS) and next(first, None) is not None:
            all_there.wait(timeout=60)

    return wait


def rewrite(root: Path, change: Change) -> None:
    """Change a capture as somebody who can write JSON would."""
    path = root / "capture.jsonl"
    lines = change([json.loads(line) for line in path.read_bytes().splitlines()])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def of_flow(lines: list[Line], number: int) -> list[Line]:
    return [line for line in lines if line.get("flow") == number]


def renumber(lines: list[Line], number: int) -> list[Line]:
    return [{**line, "flow": number} for line in lines]


def last(lines: list[Line]) -> int:
    return max(line.get("flow", 0) for line in lines)


def change_lines(lines: list[Line], number: int, event: str, **values: object) -> list[Line]:
    return [
        {**line, **values} if (line.get("flow"), line["event"]) == (number, event) else line for line in lines
    ]


def other_body(data: bytes) -> dict[str, str]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "base64": base64.b64encode(data).decode()}


def faults(root: Path) -> dict[str, tuple[str, ...]]:
    """Claims that do not hold, by claim."""
    found = reconcile(RunReader.strict(root), root / "capture.jsonl")
    return {each.claim: each.faults for each in found if not each.holds}


def refuse() -> Incoming:
    """A refusal by moderation."""
    body = json.dumps({"code": "DataInspectionFailed", "message": "no"}).encode()
    return Incoming(400, (("content-type", "application/json"),), body)
