"""A forgery, how to tell whether it was refused, and the tools of a forger who has our code."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaks.forgeries.honest import doubts
from pcevolve.errors import ClientError
from pcevolve.public.publish.dataset import publish
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import GENESIS, Line, digest
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.providers.codec import encode_json
from support.forge import Event, Populations, forge, reissue, rewrite_body

Act = Callable[[Path], object]
Row = Act | tuple[Act, str]
Events = list[Event]
SECRET = b"patient 17: positive"
NAMED = re.compile(
    r"\bline \d+|\brelease/|\btranscript/|receipt for iteration \d|\.(html|json|toml)\b|^'.+' does not belong|"
    r"^\w+ is a (link|pipe)"
)
"""A fault that says where to look: a line, a file, or a receipt by its round."""


@dataclass(frozen=True)
class Forgery:
    """One way of handing out a run that is not what it says.

    Attributes:
        family: What kind of way it is.
        name: Which one.
        kind: The kind of run that is altered.
        act: Alters a copy.
        fault: What the audit has to say, as a regular expression.
    """

    family: str
    name: str
    kind: str
    act: Act
    fault: str

    def __str__(self) -> str:
        return f"{self.family}: {self.name} ({self.kind})"


def refused(forgery: Forgery, root: Path) -> tuple[bool, list[str]]:
    """Alter a copy, and audit it: whether the expected fault or doubt is told, with its place, and all that is told."""
    forgery.act(root)
    told = doubts(root)
    return any(re.search(forgery.fault, each) and NAMED.search(each) for each in told), told


def rewritten(change: Callable[[Events], Events]) -> Act:
    """Other events in a whole chain, and all that follows from them made anew."""

    def act(root: Path) -> None:
        with suppress(ClientError):  # a record that our own code does not read
            forge(root, change)

    return act


def edited(kind: str, change: Callable[[Event], object], which: int = 0, **fields: object) -> Act:
    """One event of a kind, in a whole chain, changed in place."""

    def edit(events: Events) -> Events:
        change(events[place(events, kind, which, **fields)])
        return events

    return rewritten(edit)


def write_into(written: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Write values into a JSON object, those of a section beside the others that it has."""
    for name, value in changes.items():
        if isinstance(value, Mapping) and name in written:
            write_into(written[name], value)
        else:
            written[name] = value


def respelled(change: Callable[[bytes], bytes], kind: str, which: int = 0) -> Act:
    """One line in another spelling, with all lines after it chained to that."""

    def act(root: Path) -> None:
        log = root / "transcript" / "log.jsonl"
        events = events_of(root)
        chosen, previous, lines = place(events, kind, which), GENESIS, []
        for seq, event in enumerate(events):
            raw = Line(seq=seq, prev=previous, event=event).encode()
            lines.append(change(raw) if seq == chosen else raw)
            previous = digest(lines[-1])
        if lines[chosen] == Line(**json.loads(raw_of(lines[chosen]))).encode():
            raise ValueError("that is the honest spelling")
        log.write_bytes(b"".join(lines))
        with suppress(ClientError):
            reissue(root)

    return act


def raw_of(line: bytes) -> bytes:
    """A line that JSON's reader takes, whatever its spelling."""
    return line.removeprefix(b"\xef\xbb\xbf")


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """A change of the first such bytes, which have to be there."""

    def change(data: bytes) -> bytes:
        if old not in data:
            raise ValueError(f"{old!r} is not there to be replaced")
        return data.replace(old, new, 1)

    return change


def places(events: Events, kind: str, **fields: object) -> list[int]:
    """Where the events of a kind stand."""
    return [
        number
        for number, event in enumerate(events)
        if event["kind"] == kind and all(event.get(name) == value for name, value in fields.items())
    ]


def place(events: Events, kind: str, which: int = 0, **fields: object) -> int:
    """Where an event of a kind stands, counted among its like."""
    return places(events, kind, **fields)[which]


def embodied(edit: Callable[[bytes, Path], bytes], slot: str, kind: str = "sent") -> Act:
    """The last request whose slot begins so, or the answer to it, with another body; its record is as it would be.

    Args:
        edit: Given the body and the run's folder, returns another.
        slot: How that of the request begins.
        kind: Of the line.
    """

    def act(root: Path) -> None:
        def changed(events: Events) -> Events:
            here = max(each for each in places(events, kind) if events[each]["slot"].startswith(slot))
            events[here] = rewrite_body(root, events[here], lambda body: edit(body, root))
            return events

        forge(root, changed)
        made_to_fit(root)

    return act


def respelt(change: Callable[[dict, Path], object], slot: str, kind: str = "sent") -> Act:
    """A request, or the answer to it, with other fields."""

    def edit(body: bytes, root: Path) -> bytes:
        values = json.loads(body)
        change(values, root)
        return encode_json(values)

    return embodied(edit, slot, kind)


def sent_with(slot: str, **fields: object) -> Act:
    """The last request of a stage with other fields."""
    return respelt(lambda values, root: values.update(fields), slot)


def events_of(root: Path) -> Events:
    """The events of a run's record."""
    return [
        json.loads(line)["event"] for line in (root / "transcript" / "log.jsonl").read_bytes().splitlines()
    ]


def written(path: str, change: Callable[[bytes], bytes]) -> Act:
    """A file of the run with other bytes."""

    def act(root: Path) -> None:
        before = (root / path).read_bytes()
        after = change(before)
        if after == before:
            raise ValueError(f"{path} was not changed")
        (root / path).write_bytes(after)

    return act


def stored(root: Path, data: bytes) -> str:
    """Keep a file among the bodies as an honest run would, and return its digest."""
    return Bodies(root / "transcript" / "bodies").keep(data)


def republished(root: Path) -> None:
    """Make the release anew from a forged record, its images too, as ``publish`` does, and all that follows."""
    evidence = RunReader.strict(root)
    plan, receipts = evidence.plan, evidence.receipts
    assert plan is not None
    due = Populations(plan, evidence.outputs).dataset(receipts)
    shutil.rmtree(root / "release")
    made = DatasetRelease.of(evidence, due)
    publish(root / "release", made, evidence.bodies.file)
    prune(root)
    reissue(root)


def made_to_fit(root: Path) -> None:
    """Remove what no line names any more, and make everything else anew, as far as our own code reads the record."""
    prune(root)
    with suppress(ClientError):
        reissue(root)


def prune(root: Path) -> None:
    """Remove stored files that no line names, so that a forgery leaves no leftovers."""
    try:
        named = RunReader.strict(root).files
    except ClientError:  # a record that our own code does not read
        return
    for path in (root / "transcript" / "bodies").iterdir():
        if f"bodies/{path.name}" not in named:
            path.unlink()


def forged(family: str, rows: Mapping[str, Row], *kinds: str, fault: str = "") -> list[Forgery]:
    """Forgeries of a family.

    Args:
        family: What kind of way they are.
        rows: By name, an act and what the audit has to say of it, or the act alone where ``fault`` is the same for all.
        kinds: Of the runs that each is tried on; ``control`` if none is named.
        fault: What the audit has to say of each.
    """
    return [
        Forgery(family, name, kind, *(row if isinstance(row, tuple) else (row, fault)))
        for name, row in rows.items()
        for kind in kinds or ("control",)
    ]
