"""Reads as much of a record as can be read: a person who looks into a broken run needs what is left of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import TranscriptError
from pcevolve.transcript.evidence import Evidence
from pcevolve.transcript.log import LOG, Entry, read
from pcevolve.transcript.records import Line, from_event
from pcevolve.transcript.tree import odd_entries


@dataclass(frozen=True)
class Reading:
    """A run's record, whole or in part.

    Attributes:
        evidence: The lines that could be read.
        proven: How many of them, from the first on, form an unbroken chain.
        trouble: Why it is not the whole record; None when it is.
    """

    evidence: Evidence
    proven: int
    trouble: str | None

    @property
    def whole(self) -> bool:
        """Whether there is a record and it is all of one chain."""
        return self.trouble is None and bool(self.evidence.entries)

    @classmethod
    def of(cls, root: Path) -> Reading:
        """Read a run; whatever is wrong with it becomes ``trouble``, never an error."""
        for fault in odd_entries(root, "transcript"):  # a pipe would block
            return cls(Evidence(root, ()), 0, fault)
        entries: list[Entry] = []
        trouble = None
        try:
            for entry in read(root / "transcript"):
                entries.append(entry)
        except TranscriptError as error:
            trouble = str(error)
        proven = len(entries)
        if trouble is not None:
            entries.extend(_rest(root / "transcript" / LOG, proven))
        return cls(Evidence(root, tuple(entries)), proven, trouble)


def _rest(log: Path, first: int) -> Iterator[Entry]:
    """Lines from the break on that still are records; nothing vouches for them."""
    try:
        lines = log.read_bytes().splitlines()[first:]
    except OSError:
        return
    for number, raw in enumerate(lines, start=first):
        try:
            yield Entry(number, from_event(Line.model_validate(json.loads(raw)).event), "")
        except (ValueError, RecursionError):
            continue
