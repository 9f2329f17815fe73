"""The transcript: an append-only, hash-chained record of everything that crossed the wire.

Each line carries the digest of the line before it. A line is on disk before the action that it announces.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from pcevolve.errors import TranscriptError
from pcevolve.public.durable import sync_folder
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import GENESIS, Line, digest, read_chain
from pcevolve.public.transcript.layout import BODIES, LOG
from pcevolve.public.transcript.records import (
    Answered,
    Failed,
    Planned,
    Received,
    Record,
    RecordedRelease,
    Sent,
    from_event,
    part_of,
    planned_slot,
    to_event,
)


class Entry(NamedTuple):
    """A record, with its position in the chain."""

    seq: int
    record: Record
    digest: str


@dataclass
class AnswerChain:
    """A successful answer to a call, followed by the answers to further requests about its job.

    Attributes:
        cancelled: True if cancellation of the job was requested; later answers do not count.
    """

    answers: list[Answered]
    cancelled: bool = False


def read(folder: Path) -> Iterator[Entry]:
    """Read and check a transcript line by line; see ``chain.read_chain``.

    Raises:
        UsageError: Another version wrote the transcript.
        TranscriptError: A line is missing, moved, edited, incomplete, or not in canonical form.
    """
    for line, raw, found in read_chain(folder):
        try:
            record = from_event(line.event)
        except ValueError as error:
            raise TranscriptError(f"transcript line {line.seq + 1} is damaged") from error
        # Compare bytes, because 2.0 equals 2 and both would give the same record.
        if line.model_copy(update={"event": to_event(record)}).encode() != raw:
            raise TranscriptError(f"transcript line {line.seq + 1} was edited")
        yield Entry(line.seq, record, found)


def find_plan(entries: Iterable[Entry]) -> PublicPlan | None:
    """Return the plan in a run's records, or None. Records after the plan are not read."""
    return next((each.record.plan for each in entries if isinstance(each.record, Planned)), None)


def list_files(record: Record) -> tuple[str, ...]:
    """Return the digests of the stored files that a record refers to."""
    if isinstance(record, Received):
        return record.outputs
    if isinstance(record, Planned):
        return () if record.plan.start is None else tuple(chain(*record.plan.start.images))
    if isinstance(record, RecordedRelease):
        return tuple(each for each in (record.receipt.measured, record.answers) if each)
    return record.body.files if isinstance(record, Sent | Answered) else ()


class Transcript:
    """A transcript that is being written."""

    def __init__(self, folder: Path) -> None:
        """Open for appending. Remove an incomplete last line (``TranscriptError`` for other damage)."""
        self.folder = folder
        self.bodies = Bodies(folder / BODIES)
        self.bodies.folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOG
        self._path.touch()
        self._drop_torn_line()
        self.entries: list[Entry] = []
        self._chains: dict[str, list[AnswerChain]] = defaultdict(list)
        self._last_url: dict[str, str] = {}
        self._answer_from: dict[tuple[str, str], Answered] = {}
        self._outputs: dict[str, tuple[str, ...]] = {}
        self._receipts: set[Receipt] = set()
        self._outcomes: dict[str, list[Answered | Failed]] = defaultdict(list)
        for entry in read(folder):
            self._index(entry)
        # Unbuffered: a crash would lose a line in the process's buffer, although its request may have been sent.
        self._file = self._path.open("ab", buffering=0)
        self._size = os.fstat(self._file.fileno()).st_size
        # The log's own name, not only its lines, has to survive a power cut.
        sync_folder(folder)
        # Do this before anything else is sent, because an audit requires an outcome between two attempts.
        self._end_what_was_cut_off()

    @property
    def head(self) -> str:
        """Digest of the last line, which commits to the whole transcript."""
        return self.entries[-1].digest if self.entries else GENESIS

    def append(self, record: Record) -> None:
        """Write a record and sync it to disk.

        If the call is interrupted, the record may already be on disk. The next call then continues after it.
        """
        # Ctrl-C may have come between write and index. Writing the same number again would break the chain.
        self._catch_up()
        line = Line(seq=len(self.entries), prev=self.head, event=to_event(record))
        raw = line.encode()
        rest = memoryview(raw)
        while rest:  # a nearly full disk writes only a part, and raises at the next write
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())
        self._index(Entry(line.seq, record, digest(raw)))
        self._size += len(raw)

    def _catch_up(self) -> None:
        """Index a line that an interrupted append wrote, or remove an incomplete line."""
        size = os.fstat(self._file.fileno()).st_size
        if size == self._size:
            return
        self._drop_torn_line()
        for entry in islice(read(self.folder), len(self.entries), None):
            self._index(entry)
        self._size = os.fstat(self._file.fileno()).st_size

    def answers(self, slot: str) -> list[AnswerChain]:
        """Return the successful answers on record for a slot, oldest first, each with the later answers of its job."""
        return self._chains.get(slot, [])

    def answer_from(self, slot: str, url: str) -> Answered | None:
        """Return the successful answer on record to a slot's request at exactly this address; None if there is none."""
        return self._answer_from.get((slot, url))

    def list_sent(self) -> list[Sent]:
        """Return all requests that were sent, in order, retries included."""
        return [entry.record for entry in self.entries if isinstance(entry.record, Sent)]

    def outcomes(self, slot: str) -> list[Answered | Failed]:
        """Return the outcome of each attempt at a slot so far, oldest first."""
        return self._outcomes.get(slot, [])

    def outputs(self, slot: str) -> tuple[str, ...] | None:
        """Return the digests of a slot's outputs; None if they are not on record."""
        return self._outputs.get(slot)

    def plan(self) -> PublicPlan | None:
        """Return the plan on record; None before it is fixed."""
        return find_plan(self.entries)

    def has(self, receipt: Receipt) -> bool:
        """True if a receipt is on record."""
        return receipt in self._receipts

    def prune(self) -> None:
        """Remove stored files that no line refers to."""
        self.bodies.keep_only({name for entry in self.entries for name in list_files(entry.record)})

    def _index(self, entry: Entry) -> None:
        """Index a line that is on disk."""
        self.entries.append(entry)
        record = entry.record
        if isinstance(record, Sent):
            self._last_url[record.slot] = record.url
            if part_of(record.slot) == "cancel" and (chains := self._chains.get(planned_slot(record.slot))):
                chains[-1].cancelled = True
        if isinstance(record, Answered | Failed):
            self._outcomes[record.slot].append(record)
        if isinstance(record, Answered) and record.succeeded:
            self._add_to_chain(record)
            self._answer_from[record.slot, self._last_url.get(record.slot, "")] = record
        if isinstance(record, Received):
            self._outputs[record.slot] = record.outputs
        if isinstance(record, RecordedRelease):
            self._receipts.add(record.receipt)

    def _add_to_chain(self, answer: Answered) -> None:
        chains, part = self._chains[planned_slot(answer.slot)], part_of(answer.slot)
        if part == "call":
            chains.append(AnswerChain([answer]))
        elif part == "job" and chains:
            chains[-1].answers.append(answer)

    def close(self) -> None:
        """Close the log. Nothing can be appended afterwards."""
        self._file.close()

    def _end_what_was_cut_off(self) -> None:
        """Record a failure for each request without an outcome; the process that sent it was killed."""
        for slot in self._open():
            self.append(Failed(slot=slot, reason="cut off"))

    def _open(self) -> list[str]:
        """Return the slots of requests without an outcome, in the order in which they were sent."""
        waiting: dict[str, None] = {}
        for entry in self.entries:
            if isinstance(entry.record, Sent):
                waiting[entry.record.slot] = None
            elif isinstance(entry.record, Answered | Failed):
                waiting.pop(entry.record.slot, None)
        return list(waiting)

    def _drop_torn_line(self) -> None:
        """Remove an incomplete last line. The action that it announces did not happen."""
        # Read the whole log, once per run, because an incomplete last line may be long.
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with self._path.open("r+b") as file:
                file.truncate(whole)
                os.fsync(file.fileno())
