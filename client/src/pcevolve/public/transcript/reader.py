"""Reads the record of a run: the one way in which audit, pages and summary come to its lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import MOST_BYTES as MOST_LOG_BYTES
from pcevolve.public.transcript.chain import Line
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
from pcevolve.public.transcript.stored import MOST_BYTES
from pcevolve.public.transcript.traffic import Traffic
from pcevolve.public.usefulness import Assessment
from pcevolve_shared.reading import parse_json, read_file


@dataclass(frozen=True)
class RunReader:
    """A run's record, read once and checked while it was read; images and bodies are opened when they are asked for.

    ``strict`` gives a whole record or raises; ``lenient`` gives what is left of one and says how much of it is proven.
    The private folder is never looked into.

    Attributes:
        trouble: Why they are not the whole record; None when they are.
        proven: How many of them, from the first on, form an unbroken chain.
    """

    layout: RunLayout
    entries: tuple[Entry, ...]
    trouble: str | None = field(default=None, kw_only=True)
    proven: int = field(default=0, kw_only=True)

    @classmethod
    def strict(cls, root: Path) -> RunReader:
        """Read a whole record; ``TranscriptError`` where there is none, or its chain is broken."""
        reader = cls.lenient(root)
        reader.require_whole()
        return reader

    @classmethod
    def lenient(cls, root: Path) -> RunReader:
        """Read as much as can be read; whatever is wrong becomes ``trouble``, never an error."""
        layout = RunLayout(root)
        # Before anything is opened, for a pipe would block.
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
            # What lies behind a break is shown to people as unproven; no check counts it.
            entries.extend(_unproven(layout.log, proven))
        return cls(layout, tuple(entries), trouble=trouble, proven=proven)

    def require_whole(self) -> None:
        """Raise a ``TranscriptError`` that says what is wrong, unless this is all of a run's record."""
        why = self.why_not_whole
        if why is not None:
            raise TranscriptError(why)

    @property
    def whole(self) -> bool:
        """True if this is all of a run's record, from its opening line on, in one unbroken chain."""
        return self.why_not_whole is None

    @property
    def why_not_whole(self) -> str | None:
        """The reason why nobody may rely on this record; None if it is all there."""
        if self.trouble is None and not (self.entries and isinstance(self.entries[0].record, Opened)):
            return not_a_run(self.layout.root, "its transcript does not begin with an opening line")
        return self.trouble

    @property
    def head(self) -> str:
        """Digest of the last line, which stands for the whole record."""
        return self.entries[-1].digest

    @cached_property
    def bodies(self) -> Bodies:
        """The stored requests, answers and images, each checked when it is read."""
        return Bodies(self.layout.bodies)

    @cached_property
    def opened(self) -> Opened:
        """The opening line of a whole record."""
        record = self.entries[0].record
        assert isinstance(record, Opened)
        return record

    @cached_property
    def plan(self) -> PublicPlan | None:
        """The plan, if the run came that far."""
        return find_plan(self.entries)

    @property
    def finished(self) -> bool:
        """True if the record of a whole run ends in its closing line."""
        return bool(self.entries) and isinstance(self.entries[-1].record, Finished)

    @property
    def torn(self) -> bool:
        """True if the record's last line has no end, as after a crash; of an unfinished run it is not read."""
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
        """Everything that was done to the private data, as the plan's start and the releases on record say."""
        before = () if self.plan is None or self.plan.start is None else self.plan.start.events
        return (*before, *(event for each in self.receipts for event in each.events))

    @cached_property
    def outputs(self) -> dict[str, tuple[str, ...]]:
        """Digests of what each call of the plan brought, in order."""
        received = (each.record for each in self.entries if isinstance(each.record, Received))
        return {each.slot: each.outputs for each in received}

    @cached_property
    def traffic(self) -> Traffic:
        """Every attempt at a request with what came of it, and the receipts between them."""
        traffic = Traffic(self.plan)
        for place, entry in enumerate(self.entries):
            traffic.take(entry.record, line=entry.seq + 1, proven=place < self.proven)
        return traffic

    @property
    def requests(self) -> int:
        """The number of requests sent, retries included."""
        return len(self.traffic.attempts)

    @property
    def bodies_on_record(self) -> int:
        """The number of requests and answers."""
        return sum(isinstance(each.record, Sent | Answered) for each in self.entries)

    @cached_property
    def stored(self) -> frozenset[str]:
        """Digests of the stored files that a line refers to."""
        return frozenset(name for each in self.entries for name in list_files(each.record))

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the transcript that a line refers to, and its log."""
        return frozenset(f"{BODIES}/{name}" for name in self.stored) | {LOG}

    def require_finished(self) -> PublicPlan:
        """The plan of a run whose record is closed; ``UsageError`` if it is unfinished."""
        if self.plan is None or not self.finished:
            raise self.make_unfinished_error()
        return self.plan

    def require_plan(self) -> PublicPlan:
        """The plan of a run that is far enough to say something about; else ``UsageError``."""
        if self.plan is None:
            raise self.make_unfinished_error()
        return self.plan

    def manifest(self) -> Manifest:
        """Return what the release says about itself.

        Raises:
            UsageError: The run is unfinished, so there is no release yet.
            TranscriptError: The manifest is damaged, or of another record than this one.
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

    @property
    def advice(self) -> str:
        """Advise on a run that is unfinished."""
        if self.plan is None:
            return "it has no plan on record, so nothing was spent: begin again with the same command"
        return f"continue it with {self.layout.resume_command}"

    def make_unfinished_error(self) -> UsageError:
        """Return the error for what needs a dataset, with the command that goes on with the run."""
        return UsageError(f"{self.layout.root} holds an unfinished run: {self.advice}")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its record, and the plan and the manifest that every such run has."""

    record: RunReader
    plan: PublicPlan
    manifest: Manifest

    @classmethod
    def of(cls, record: RunReader) -> FinishedRun:
        """Take a run's plan and manifest from its record.

        Raises:
            UsageError: The run is unfinished, so its record has no end yet that anything could be said about.
            TranscriptError: The manifest is damaged.
        """
        return cls(record, record.require_finished(), record.manifest())

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Receipts by the iteration whose requests they allow."""
        return {each.iteration: each for each in self.record.receipts}


def _unproven(log: Path, first: int) -> Iterator[Entry]:
    """Lines from the break on that still are records; nothing vouches for them."""
    try:
        lines = read_file(log, MOST_LOG_BYTES).splitlines()[first:]
    except OSError:
        return
    for number, raw in enumerate(lines, start=first):
        try:
            yield Entry(number, from_event(Line.model_validate(parse_json(raw)).event), "")
        except ValueError:
            continue
