"""Rewrites a finished run so that its chain is whole again: what a lying client could hand to an auditor."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pcevolve.errors import ClientError
from pcevolve.pages.report import write_report
from pcevolve.publish import Release, describe_file, name_files, write_card, write_summary
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.bodies import Bodies, BodyRef
from pcevolve.transcript.records import GENESIS, Line, digest
from support.populations import Populations

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
    reissue(root)


def reissue(root: Path) -> None:
    """Make everything that follows from a record anew, as a forger who has our code would; images stay as they are."""
    evidence = RunReader.strict(root)
    plan, receipts = evidence.plan, evidence.receipts
    if plan is None:
        return
    release = root / "release"
    due = name_files(plan, Populations(plan, evidence.outputs).dataset(receipts))
    there = {path: each for path, each in due.items() if (release / path).is_file()}
    files = [describe_file(path, (release / path).read_bytes(), each) for path, each in there.items()]
    unreadable = [each.id for path, each in due.items() if path not in there]
    made = Release.of(evidence, {})
    with suppress(ClientError):  # a plan or receipt of which nothing follows
        RunLayout(root).manifest.write_bytes(made.manifest(files, unreadable).encode())
        RunLayout(root).card.write_text(write_card(made, len(files)))
        write_summary(evidence)
        write_report(RunReader.strict(root))


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
