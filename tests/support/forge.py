"""Rewrites a finished run so that its chain is whole again: what a lying client could hand to an auditor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pcevolve_client.egress.bodies import Bodies, BodyRef
from pcevolve_client.egress.records import GENESIS, Line, digest

Event = dict[str, Any]


def forge(root: Path, change: Callable[[list[Event]], list[Event]]) -> None:
    """Replace the events of a transcript, chain them anew and anchor the new end in the manifest."""
    log = root / "transcript" / "log.jsonl"
    events = change([json.loads(line)["event"] for line in log.read_bytes().splitlines()])
    previous, lines = GENESIS, []
    for seq, event in enumerate(events):
        raw = Line(seq=seq, prev=previous, event=event).encode()
        lines.append(raw)
        previous = digest(raw)
    log.write_bytes(b"".join(lines))
    path = root / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["transcript"] = {"head": previous, "lines": len(lines)}
    path.write_text(json.dumps(manifest))


def rewritten_body(root: Path, event: Event, change: Callable[[bytes], bytes]) -> Event:
    """The same event with another body, stored as a run would store it."""
    bodies = Bodies(root / "transcript" / "bodies")
    before = bodies.get(BodyRef(**event["body"]))
    after = change(before)
    size = event["wire_bytes"] + len(after) - len(before)
    headers = [
        [name, str(len(after)) if name == "Content-Length" else value] for name, value in event["headers"]
    ]
    return {**event, "body": bodies.put(after).model_dump(), "wire_bytes": size, "headers": headers}
