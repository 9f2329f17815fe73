"""An owner's copy of the coordinator's record: files first, then the lines that name them, finally the release."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pcevolve.errors import TranscriptError
from pcevolve.public.clinics.answers import note_received
from pcevolve.public.durable import sync_folder
from pcevolve.public.loop.lineage import Lineage
from pcevolve.public.loop.usable import UsableRule
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.publish.dataset import publish, write_summary
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import FINISHED, GENESIS, PLANNED, Line, digest, read_chain
from pcevolve.public.transcript.log import list_files
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Received, RecordedRelease, from_event
from pcevolve_shared.reading import parse_json


class Copy:
    """An owner's growing copy of a record.

    Attributes:
        lines: Number of lines so far.
        head: Digest of the last line.
        kinds: Kinds of the lines so far.
    """

    def __init__(self, folder: RunFolder) -> None:
        """Continue an existing copy, without an incomplete last line that a crash left."""
        self._folder, self._bodies = folder, Bodies(folder.bodies)
        self.lines, self.head, self.kinds = 0, GENESIS, set[str]()
        folder.bodies.mkdir(parents=True, exist_ok=True)
        whole = 0
        if folder.log.exists() and folder.log.stat().st_size:
            for each in read_chain(folder.transcript):
                self._note(each.line, each.digest)
                whole += len(each.raw)
        self._file = folder.log.open("ab", buffering=0)
        self._file.truncate(whole)
        sync_folder(folder.transcript)

    @property
    def has_plan(self) -> bool:
        return PLANNED in self.kinds

    @property
    def is_closed(self) -> bool:
        """True if the copy has the record's last line."""
        return FINISHED in self.kinds

    def extend(self, data: bytes, fetch: Callable[[str], bytes]) -> bool:
        """Add lines, each of which must follow the one before; return True if a release is among them.

        Args:
            fetch: Returns a stored file by its digest.

        Raises:
            TranscriptError: The lines do not follow each other, or a file does not match its digest.
        """
        releases = False
        for raw in data.splitlines(keepends=True):
            try:
                line = Line.model_validate(parse_json(raw))
                record = from_event(line.event)
            except ValueError:
                raise TranscriptError(
                    "the coordinator sent something that is not a line of a record"
                ) from None
            if (line.seq, line.prev) != (self.lines, self.head):
                raise TranscriptError("the coordinator sent a line that does not follow the previous line")
            for name in list_files(record):
                if not (self._folder.bodies / name).exists() and self._bodies.keep(fetch(name)) != name:
                    raise TranscriptError("the coordinator sent a file that differs from its record")
            rest = memoryview(raw)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
            self._note(line, digest(raw))
            releases |= isinstance(record, RecordedRelease)
        return releases

    def close(self) -> None:
        self._file.close()

    def _note(self, line: Line, found: str) -> None:
        self.lines, self.head = self.lines + 1, found
        self.kinds.add(str(line.event.get("kind")))


def publish_copy(folder: RunFolder) -> dict[str, Any]:
    """Write release and report of a closed record, from the record alone, and return the run's summary."""
    record = RunReader.strict(folder.root)
    plan = record.require_plan()
    usability = UsableRule(plan, record.bodies.file)
    lineage = Lineage(plan, usability.identify, usability.is_enough)
    for entry in record.entries:
        if isinstance(entry.record, Received):
            note_received(lineage, entry.record)
        elif isinstance(entry.record, RecordedRelease):
            lineage.receipts.append(entry.record.receipt)
    if not folder.finished:
        publish(folder.release, DatasetRelease.of(record, lineage.dataset()), record.bodies.file)
    write_report(record)
    return {**write_summary(record), "dataset": str(folder.release), "report": str(folder.report)}
