"""The coordinator's door: its server, where owners read the record and leave their signed answers.

Only owners of the roster are admitted. They see the record and the other owners' answers; an answer alone
reveals nothing, because it is masked. The door waits for all owners of the roster.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from pcevolve.errors import TranscriptError, UsageError, printable
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer
from pcevolve.public.clinics.messages import state_agreement, state_presence
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.clinics.sync import REFUSALS, WAIT_SECONDS, News, Sync
from pcevolve.public.plan import PublicPlan
from pcevolve.public.protocol import digest_plan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.chain import GENESIS, StoredFiles
from pcevolve.wire.clinics.guests import TLS_FAULTS

MOST_LINES_BYTES: Final = 2**24
"""Largest number of bytes of the record in one reply."""
_PATIENCE_SECONDS: Final = 60.0
"""Longest wait in seconds, at the end of a run, until every owner has been informed."""
_SILENCE_SECONDS: Final = 60.0
"""Interval in seconds at which the missing owners are reported."""


class DeniedError(Exception):
    """Raised if a client is not admitted, or sends a message that is not allowed now."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class RecordLines:
    """The lines of a record that is still being written, by their position."""

    def __init__(self, folder: RunFolder) -> None:
        self._log = folder.log
        self._ends, self._heads, self._read = [0], [GENESIS], 0

    def find_news(self, lines: int, head: str) -> bytes:
        """Return the lines after the first ``lines`` lines.

        ``DeniedError`` if ``head`` is not the digest of those first lines.
        """
        self._look()
        if lines >= len(self._ends) or self._heads[lines] != head:
            raise DeniedError(
                409,
                "this owner has a copy of a different record: join with another --out, or restore "
                "the right copy",
            )
        end = self._ends[lines]
        most = max([each for each in self._ends[lines + 1 :] if each - end <= MOST_LINES_BYTES], default=None)
        # A longer line is sent alone, or its owner would wait forever.
        if most is None:
            most = self._ends[min(lines + 1, len(self._ends) - 1)]
        with self._log.open("rb") as file:
            file.seek(end)
            return file.read(most - end)

    def _look(self) -> None:
        with self._log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        for raw in whole.splitlines(keepends=True):
            self._read += len(raw)
            self._ends.append(self._read)
            self._heads.append(hashlib.sha256(raw).hexdigest())


class Door:
    """The coordinator's state towards its owners; safe for several threads."""

    def __init__(self, folder: RunFolder, version: str, tell: Callable[[str], None]) -> None:
        """Start without owners, until a plan names them.

        Args:
            tell: Called with a sentence when an owner joins, agrees, or is waited for; nothing in it is
                private.
        """
        self._folder, self._version, self._tell = folder, version, tell
        self._changed = threading.Condition()
        self._plan, self._clinics = "", Clinics.model_construct(owners=())
        self._lines: RecordLines | None = None
        self._present: dict[int, float] = {}
        self._agreed: set[int] = set()
        self._refused: dict[int, str] = {}
        self._denied: set[tuple[int, int]] = set()
        self._asked: tuple[Question, tuple[Exchange, ...]] | None = None
        self._answers: dict[int, SignedAnswer] = {}
        self._figures: dict[str, Any] | None = None
        self._informed: set[int] = set()
        self._faults: set[str] = set()

    def wait(self, plan: PublicPlan) -> None:
        """Publish a recorded plan, and wait until every owner has agreed to it.

        Raises:
            UsageError: An owner refuses; nothing was spent.
        """
        assert plan.clinics is not None
        with self._changed:
            self._plan, self._clinics = digest_plan(plan), plan.clinics
            self._lines = RecordLines(self._folder)
        self._tell(
            f"waiting for {len(plan.clinics.owners)} owners: {self._name(range(len(plan.clinics.owners)))}"
        )
        self._wait_for(lambda: self._list_others(self._agreed), "to agree")

    def gather(self, question: Question, before: Sequence[Exchange]) -> tuple[SignedAnswer, ...]:
        """Publish a question, and wait until every owner has answered it.

        Raises:
            UsageError: An owner refuses; what was paid for is on record.
        """
        with self._changed:
            self._asked, self._answers = (question, tuple(before)), {}
            self._changed.notify_all()
        self._wait_for(lambda: self._list_others(self._answers), "to answer")
        with self._changed:
            self._asked = None
            return tuple(self._answers[place] for place in sorted(self._answers))

    def finish(self, figures: dict[str, Any]) -> None:
        """Announce the end of the run, and wait for a limited time until every owner has been informed."""
        end = time.monotonic() + _PATIENCE_SECONDS
        with self._changed:
            self._figures = figures
            self._changed.notify_all()
            while self._list_others(self._informed) and time.monotonic() < end:
                self._changed.wait(1.0)
            if rest := self._list_others(self._informed):
                self._tell(
                    f"not informed that the run is over: {self._name(rest)}; to inform them, start the "
                    "coordinator again with --resume"
                )

    def hear(self, sync: Sync) -> News:
        """Process an owner's message, and answer when there is news, or after a limited time.

        Raises:
            DeniedError: The sender is not an owner of the roster, or its message is invalid.
        """
        with self._changed:
            try:
                self._let_in(sync)
                self._take(sync)
                self._changed.notify_all()
                end = time.monotonic() + WAIT_SECONDS
                while not self._has_news(sync) and (left := end - time.monotonic()) > 0:
                    self._changed.wait(min(left, 0.2))  # new lines of the record give no notification
                return self._make_news(sync)
            except DeniedError as error:
                self._tell_denied(sync, error)
                raise

    def find_body(self, digest: str) -> bytes:
        """Return a stored file of the record, by its digest (``DeniedError`` if there is none)."""
        try:
            return StoredFiles(self._folder.bodies).file(digest)
        except TranscriptError:
            raise DeniedError(404, "the record does not contain this file") from None

    def note_fault(self, reason: str | None) -> None:
        """Report the TLS error of an unknown client, once for each error."""
        fault = TLS_FAULTS.get(reason or "")
        with self._changed:
            if fault is None or fault in self._faults:
                return
            self._faults.add(fault)
        self._tell(f"somebody could not join: {fault}")

    def admits(self, place: int, token: bytes) -> bool:
        """True if an owner of the roster signed this token (``DeniedError`` while there is no plan)."""
        with self._changed:
            self._require_plan()
            return self._clinics.has_signed(place, state_presence(self._clinics.digest), token)

    def _require_plan(self) -> None:
        if not self._plan:
            raise DeniedError(503, "the coordinator has no plan yet")

    def _let_in(self, sync: Sync) -> None:
        self._require_plan()
        if sync.version != self._version:
            raise DeniedError(
                409,
                f"the coordinator has version {self._version} of pcevolve, but this owner has version "
                f"{sync.version}: use the same version",
            )
        if sync.roster != self._clinics.digest:
            raise DeniedError(
                403,
                "the coordinator's roster differs from this owner's: compare the digests that pcevolve clinics "
                "roster prints",
            )
        if not self._has_come(sync.owner, sync):
            raise DeniedError(403, "the key differs from this owner's key in the coordinator's roster")

    def _tell_denied(self, sync: Sync, error: DeniedError) -> None:
        """Report why an owner is not admitted, once per status; an owner without valid signature is not named."""
        for place in range(len(self._clinics.owners)):
            report = place, error.status
            if report not in self._denied and self._has_come(place, sync):
                self._denied.add(report)
                self._tell(f"{self._name([place])} was refused: {printable(error.why)}")

    def _has_come(self, place: int, sync: Sync) -> bool:
        return self._clinics.has_signed(place, state_presence(sync.roster), sync.token)

    def _take(self, sync: Sync) -> None:
        """Store the message of an admitted owner."""
        place = sync.owner
        if place not in self._present:
            self._tell(f"{self._name([place])} has joined")
        self._present[place] = time.monotonic()
        if sync.refusal is not None:
            self._refused[place] = REFUSALS[sync.refusal]
            return
        self._refused.pop(place, None)  # the owner was started again, with the fault corrected
        if sync.agreement is not None and place not in self._agreed:
            if not self._clinics.has_signed(place, state_agreement(self._plan), sync.agreement):
                raise DeniedError(403, "the signature is not valid for the coordinator's plan")
            self._agreed.add(place)
            self._tell(f"{self._name([place])} agrees ({len(self._agreed)} of {len(self._clinics.owners)})")
        if sync.answer is not None and self._asked is not None and sync.question == self._asked[0].digest:
            if sync.answer.owner != place or not sync.answer.is_signed(self._asked[0], self._clinics):
                raise DeniedError(
                    403, "the answer has no valid signature of this owner for the question that was asked"
                )
            # The first answer counts: with a choice of two, somebody could select.
            self._answers.setdefault(place, sync.answer)

    def _has_news(self, sync: Sync) -> bool:
        news = self._make_news(sync)
        return bool(news.lines or news.question or news.figures is not None)

    def _make_news(self, sync: Sync) -> News:
        assert self._lines is not None
        lines = self._lines.find_news(sync.lines, sync.head)
        missing = self._list_others(self._answers if self._asked else self._agreed)
        common = {
            "lines": base64.b64encode(lines),
            "missing": tuple(self._clinics.owners[each].name for each in missing),
        }
        # Lines first: questions and figures only go to an owner whose copy is complete.
        if not lines and self._figures is not None:
            self._informed.add(sync.owner)
            return News(**common, figures=self._figures)
        if not lines and self._asked is not None and sync.owner not in self._answers:
            return News(**common, question=self._asked[0], before=self._asked[1])
        return News(**common)

    def _wait_for(self, list_missing: Callable[[], list[int]], what: str) -> None:
        reported = time.monotonic()
        with self._changed:
            while missing := list_missing():
                for place, why in self._refused.items():
                    # The kind of reason is enough here, because the details are for the owner alone.
                    raise UsageError(
                        f"owner {self._name([place])} {why}; see the messages on that owner's screen"
                    )
                now = time.monotonic()
                if now - reported > _SILENCE_SECONDS:
                    reported = now
                    self._tell(f"waiting for {self._name(missing)} {what}")
                self._changed.wait(0.5)

    def _list_others(self, known: object) -> list[int]:
        return [place for place in range(len(self._clinics.owners)) if place not in known]  # type: ignore[operator]

    def _name(self, places: Sequence[int]) -> str:
        return ", ".join(self._clinics.owners[place].name for place in places)
