"""The lines of a record for an audit, each taken once in order; their bodies and files; and the length of the key.

Any forgery in a record becomes a fault, never a crash.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pcevolve.errors import ClientError
from pcevolve.public.transcript.bodies import cut
from pcevolve.public.transcript.irregular import find_file_faults, kind_of
from pcevolve.public.transcript.layout import BODIES, LOG, TRANSCRIPT
from pcevolve.public.transcript.log import Entry
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import (
    GREETING_SLOT,
    Answered,
    Failed,
    Finished,
    Opened,
    Planned,
    Received,
    Record,
    RecordedRelease,
    Sent,
    planned_slot,
)

UNREADABLE: Final = (
    ClientError,
    OSError,
    ArithmeticError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""All errors that reading a forged record may raise."""
_HALF: Final = re.compile(r"\.[0-9a-f]{64}\.partial")
"""The temporary name of a stored file until it is complete."""
R = TypeVar("R", Opened, Planned, RecordedRelease, Sent, Received, Finished)


def describe(error: Exception) -> str:
    """Describe the error that stopped a check: one of ``UNREADABLE``, or a misplaced line."""
    if isinstance(error, ClientError | OutOfPlaceError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename} cannot be read: {error.strerror}"
    return f"the record cannot be made sense of ({type(error).__name__})"


class OutOfPlaceError(Exception):
    """A line is in the place of another line; the message names it."""


class RecordEndsError(Exception):
    """The record ends before the run does.

    An incomplete record is no fault. The error is also raised if a noted fault makes the rest meaningless.
    """


@dataclass
class Lines:
    """The lines of a record, each taken once in order; ``place`` is the index of the next line."""

    entries: Sequence[Entry]
    place: int = 0

    def next(self) -> Record:
        """Return the next line without taking it (``RecordEndsError`` if there is none)."""
        if self.place == len(self.entries):
            raise RecordEndsError
        return self.entries[self.place].record

    def take(self, kind: type[R], due: str) -> R:
        """Take the next line, which must be of this kind.

        Raises:
            OutOfPlaceError: The line is of another kind.
            RecordEndsError: There is no further line.
        """
        record = self.next()
        if not isinstance(record, kind):
            raise self.misplaced(due)
        self.place += 1
        return record

    def misplaced(self, due: str, *, last: bool = False) -> OutOfPlaceError:
        """Return the error for a misplaced line: the next line, or with ``last`` the line that was taken last."""
        entry = self.entries[self.place - last]
        slot = getattr(entry.record, "slot", None)
        named = f" {slot}" if slot else ""
        return OutOfPlaceError(
            f"line {entry.seq + 1}: '{entry.record.kind}'{named} stands where {due} is due"
        )

    def count_sent(self) -> int:
        """Return the number of requests taken so far."""
        return sum(isinstance(each.record, Sent) for each in self.entries[: self.place])


@dataclass
class KeyLength:
    """The length of the key, which must be the same in all requests.

    The key is not on record, but changes of its length could carry information.

    Attributes:
        length: Length of the last key minus that of ``STAND_IN``; None for no key, -1 before the first request.
        exchanged: Number of changes of the length.
        failed: Slots whose last attempt failed, and at the start the greeting. The key may change only while there
            are such slots.
    """

    length: int | None = -1
    exchanged: int = 0
    failed: set[str] = field(default_factory=lambda: {GREETING_SLOT})

    def note(self, outcome: Answered | Failed, planned: Iterable[str]) -> None:
        """Register whether an attempt succeeded. Failed requests outside the plan count until any request succeeds."""
        slot = planned_slot(outcome.slot)
        if isinstance(outcome, Answered) and outcome.succeeded:
            # A success proves the key. Until then the owner may try another key.
            self.failed = {each for each in self.failed if each in planned and each != slot}
        else:
            self.failed.add(slot)

    def fault(self, length: int | None) -> str | None:
        """Return the fault of the next request's key; None if there is none."""
        before, self.length = self.length, length
        self.exchanged += before not in (length, -1)
        same = length == before or bool(self.failed)
        return None if same else "was sent with another key than the request before it, which had succeeded"


def collect(found: Iterable[str]) -> tuple[str, ...]:
    """Collect all faults of a check, and the error that stopped it, if any."""
    faults: list[str] = []
    try:
        faults.extend(found)
    except UNREADABLE as error:
        faults.append(describe(error))
    return tuple(faults)


def find_body_faults(run: RunReader) -> Iterator[str]:
    """Yield bodies that are missing, changed, or not stored in canonical form, and stored files that no line names."""
    for entry in run.entries:
        if isinstance(entry.record, Sent | Answered):
            kind = "request" if isinstance(entry.record, Sent) else "answer"
            where = f"{kind} {entry.record.slot} (line {entry.seq + 1})"
            try:
                # Split the body again: one that was stored differently could hide an image from code that counts
                # placeholders.
                if cut(run.bodies.get(entry.record.body)).text != entry.record.body.text:
                    yield f"{where}: its body is written down in another way than this version's"
            except ClientError as error:
                yield f"{where}: {error}"
    yield from _check_stored(run)
    listed, empty = run.files | _leftovers(run), () if run.finished else (BODIES,)
    yield from find_file_faults(run.layout.root, TRANSCRIPT, listed, "belongs to no record", empty)


def _leftovers(run: RunReader) -> set[str]:
    """Return files that an interrupted run may have stored without recording them. The end of a run removes them."""
    if run.finished or not run.layout.bodies.is_dir():
        return set()
    stored = {f"{BODIES}/{path.name}" for path in run.layout.bodies.iterdir()} - run.files
    names = {path: path.removeprefix(f"{BODIES}/") for path in stored}
    return {
        path for path, name in names.items() if _HALF.fullmatch(name) or not _find_stored_fault(run, path)
    }


def _check_stored(run: RunReader) -> Iterator[str]:
    """Yield stored files that do not match their names, except parts of bodies, which were checked before."""
    bodies = (each.record.body for each in run.entries if isinstance(each.record, Sent | Answered))
    read = {f"{BODIES}/{name}" for body in bodies for name in body.files}
    for path in sorted(run.files - read - {LOG}):
        is_file = kind_of(run.layout.transcript / path) == stat.S_IFREG
        if is_file and (fault := _find_stored_fault(run, path)):
            yield f"transcript/{path}: {fault}"


def _find_stored_fault(run: RunReader, path: str) -> str:
    """Return the fault of a stored file; empty if it matches its name."""
    try:
        run.bodies.file(path.removeprefix(f"{BODIES}/"))
    except ClientError as error:
        return str(error)
    return ""
