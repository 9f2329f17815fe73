"""Read the record of a run, for audits, pages and summaries."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import MOST_BYTES, MOST_LOG_BYTES, Line
from pcevolve.public.transcript.irregular import find_irregular_files
from pcevolve.public.transcript.layout import BODIES, LOG, TRANSCRIPT, RunLayout, not_a_run
from pcevolve.public.transcript.log import Entry, find_plan, list_files, read
from pcevolve.public.transcript.records import (
    Answered,
    Finished,
    Manifest,
    Opened,
    Received,
    RecordedRelease,
    Sent,
    from_event,
)
from pcevolve.public.transcript.traffic import Traffic
from pcevolve_shared.reading import parse_json, read_file


@dataclass(frozen=True)
class RunReader:
    """A run's record, read and checked once. Images and bodies are opened on demand.

    ``strict`` returns a complete record or raises. ``lenient`` returns all readable entries, and how many of them
    are proven by the chain. Neither reads private files.

    Attributes:
        trouble: Why ``entries`` are not the complete record; None if they are.
        proven: Length of the unbroken chain from the first entry on.
    """

    layout: RunLayout
    entries: tuple[Entry, ...]
    trouble: str | None = field(default=None, kw_only=True)
    proven: int = field(default=0, kw_only=True)

    @classmethod
    def strict(cls, root: Path) -> RunReader:
        """Read a complete record (``TranscriptError`` if there is none or its chain is broken)."""
        reader = cls.lenient(root)
        reader.require_whole()
        return reader

    @classmethod
    def lenient(cls, root: Path) -> RunReader:
        """Read as much as possible. A fault is stored in ``trouble`` and raises no error."""
        layout = RunLayout(root)
        # Check before any file is opened, because opening a pipe blocks.
        for fault in find_irregular_files(root, TRANSCRIPT):
            return cls(layout, (), trouble=fault)
        entries: list[Entry] = []
        trouble = None
        try:
            for entry in read(layout.transcript):
                entries.append(entry)
        except TranscriptError as error:
            trouble = str(error)
        proven = len(entries)
        if trouble is not None:
            # Lines after a break in the chain are shown as unproven; no check counts them.
            entries.extend(_unproven(layout.log, proven))
        return cls(layout, tuple(entries), trouble=trouble, proven=proven)

    def require_whole(self) -> None:
        """Raise ``TranscriptError`` with the reason if the record is not complete."""
        why = self.why_not_whole
        if why is not None:
            raise TranscriptError(why)

    @property
    def whole(self) -> bool:
        """True if the record is one unbroken chain that starts with its opening line."""
        return self.why_not_whole is None

    @property
    def why_not_whole(self) -> str | None:
        """Why the record cannot be relied on; None if it is complete."""
        if self.trouble is None and not (self.entries and isinstance(self.entries[0].record, Opened)):
            return not_a_run(self.layout.root, "its transcript does not begin with an opening line")
        return self.trouble

    @property
    def head(self) -> str:
        """Digest of the last line, which commits to the whole record."""
        return self.entries[-1].digest

    @cached_property
    def bodies(self) -> Bodies:
        """The stored requests, answers and images, each checked when it is read."""
        return Bodies(self.layout.bodies)

    @cached_property
    def opened(self) -> Opened:
        """The opening line of a complete record."""
        record = self.entries[0].record
        assert isinstance(record, Opened)
        return record

    @cached_property
    def plan(self) -> PublicPlan | None:
        """The plan; None before it is fixed."""
        return find_plan(self.entries)

    @property
    def finished(self) -> bool:
        """True if the record ends with its closing line."""
        return bool(self.entries) and isinstance(self.entries[-1].record, Finished)

    @property
    def torn(self) -> bool:
        """True if the record's last line is incomplete, as after a crash. In an unfinished run it is skipped."""
        with self.layout.log.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"

    @property
    def assessment(self) -> Assessment | None:
        """The assessment of a finished run's dataset; None if there was none."""
        last = self.entries[-1].record
        return last.assessment if isinstance(last, Finished) else None

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """All releases on record, in order."""
        return tuple(each.record.receipt for each in self.entries if isinstance(each.record, RecordedRelease))

    @property
    def events(self) -> tuple[Event, ...]:
        """All events on the private data: the events of the release that the run starts from, then the run's own."""
        before = () if self.plan is None or self.plan.start is None else self.plan.start.events
        return (*before, *(event for each in self.receipts for event in each.events))

    @cached_property
    def outputs(self) -> dict[str, tuple[str, ...]]:
        """Digests of each call's outputs, in order."""
        received = (each.record for each in self.entries if isinstance(each.record, Received))
        return {each.slot: each.outputs for each in received}

    @cached_property
    def traffic(self) -> Traffic:
        """Every attempt at a request with its outcome, and the receipts between them."""
        traffic = Traffic(self.plan)
        for place, entry in enumerate(self.entries):
            traffic.take(entry.record, line=entry.seq + 1, proven=place < self.proven)
        return traffic

    @property
    def requests(self) -> int:
        """Number of requests that were sent, retries included."""
        return len(self.traffic.attempts)

    @property
    def bodies_on_record(self) -> int:
        """Number of recorded requests and answers."""
        return sum(isinstance(each.record, Sent | Answered) for each in self.entries)

    @cached_property
    def stored(self) -> frozenset[str]:
        """Digests of the stored files that a line refers to."""
        return frozenset(name for each in self.entries for name in list_files(each.record))

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the transcript that a line refers to, and the log itself."""
        return frozenset(f"{BODIES}/{name}" for name in self.stored) | {LOG}

    def require_finished(self) -> PublicPlan:
        """Return the plan of a run whose record is closed (``UsageError`` if the run is unfinished)."""
        if self.plan is None or not self.finished:
            raise self.make_unfinished_error()
        return self.plan

    def require_plan(self) -> PublicPlan:
        """Return the plan of a run (``UsageError`` if it has none yet)."""
        if self.plan is None:
            raise self.make_unfinished_error()
        return self.plan

    def manifest(self) -> Manifest:
        """Read and check the release's manifest.

        Raises:
            UsageError: The run is unfinished, so there is no release yet.
            TranscriptError: The manifest is damaged or belongs to another record.
        """
        path = self.layout.manifest
        if not self.finished or not path.is_file():
            raise self.make_unfinished_error()
        try:
            manifest = Manifest.model_validate_json(read_file(path, MOST_BYTES))
        except (OSError, ValidationError) as error:
            raise TranscriptError(f"{path.name} is damaged: run pcevolve audit to learn more") from error
        if manifest.transcript.head != self.head:
            raise TranscriptError(
                f"{path.parent} is not of the record beside it: run pcevolve audit to learn more"
            )
        return manifest

    def find_release_fault(self) -> str | None:
        """Return why the release folder does not match the record; None if it matches or does not exist."""
        layout = self.layout
        if not layout.release.exists():
            return None
        try:
            manifest = self.manifest()
        except (UsageError, TranscriptError):
            return (
                f"{layout.release} is not of the record beside it, which is older or another one: restore "
                f"{TRANSCRIPT}/ as it was with that release; or move the release elsewhere and resume, which asks the "
                "provider again for what is not on record, and spends no privacy budget again"
            )
        for each in manifest.files:
            with suppress(OSError):
                if hashlib.sha256((layout.release / each.path).read_bytes()).hexdigest() == each.sha256:
                    continue
            return (
                f"{layout.release / each.path} is gone or was changed: move the release elsewhere and resume, which "
                "makes it anew from the record and asks for nothing"
            )
        return None

    @property
    def advice(self) -> str:
        """Advice on continuing an unfinished run."""
        if self.plan is None:
            return "it has no plan on record, so nothing was spent: begin again with the same command"
        return f"continue it with {self.layout.resume_command}"

    def make_unfinished_error(self) -> UsageError:
        """Return the error for a command that needs a finished run, with the command that resumes it."""
        return UsageError(f"{self.layout.root} holds an unfinished run: {self.advice}")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its record, plan and manifest."""

    record: RunReader
    plan: PublicPlan
    manifest: Manifest

    @classmethod
    def of(cls, record: RunReader) -> FinishedRun:
        """Build a finished run from its record.

        Raises:
            UsageError: The run is unfinished.
            TranscriptError: The manifest is damaged.
        """
        return cls(record, record.require_finished(), record.manifest())

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Receipts by iteration."""
        return {each.iteration: each for each in self.record.receipts}


def _unproven(log: Path, first: int) -> Iterator[Entry]:
    """Yield the lines after a break that are still valid records; the chain proves none of them."""
    try:
        lines = read_file(log, MOST_LOG_BYTES).splitlines()[first:]
    except OSError:
        return
    for number, raw in enumerate(lines, start=first):
        try:
            yield Entry(number, from_event(Line.model_validate(parse_json(raw)).event), "")
        except ValueError:
            continue
