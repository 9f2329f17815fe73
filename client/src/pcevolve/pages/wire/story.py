"""What happened on the wire, told in order: each attempt, what it carried and why, and what came of it.

Nothing is judged here: the audit's findings do that. Where the record gives no reason, the story has none to tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from pcevolve.pages.report.traffic import BALANCE, GREETING, KINDS, LINKED, UNPLANNED
from pcevolve.public.plan import Call, PublicPlan
from pcevolve.public.release import Chosen, Receipt
from pcevolve.transcript.log import Entry
from pcevolve.transcript.records import (
    ACCOUNT,
    HELLO,
    Answered,
    Failed,
    Received,
    Record,
    Released,
    Sent,
    planned_slot,
)


@dataclass(frozen=True)
class Origin:
    """Where the provider had made an image: the attempt whose answer brought it, under its name if it has one."""

    digest: str
    attempt: int
    slot: str
    id: str | None = None


@dataclass(frozen=True)
class Carried:
    """An image that left, and why.

    Attributes:
        digest: SHA-256 of the bytes.
        origin: Where it came from; None when no answer on record had brought it.
        receipt: The release that chose it.
        planned: Whether the public plan itself names it.
    """

    digest: str
    origin: Origin | None
    receipt: Receipt | None = None
    planned: bool = False

    @property
    def explained(self) -> bool:
        """Whether the provider had made it and a receipt or the plan names it."""
        return self.origin is not None and (self.planned or self.receipt is not None)


@dataclass
class Attempt:
    """A request that left, once.

    Attributes:
        number: Place among all attempts, from 1.
        line: Line of the transcript, from 1.
        sent: The record of it.
        call: What the plan says about it; None for a greeting or what is not in the plan.
            What follows a link belongs to the call whose answer held it.
        nth: Which attempt at its slot it is, from 1.
        repeats: The earlier attempt whose very bytes it sends again.
        carried: The images in it.
        proven: Whether it stands before any break of the chain.
        outcome: What came of it; None when the record does not say.
        brought: The images that came back; their names come with the call's outputs.
    """

    number: int
    line: int
    sent: Sent
    call: Call | None
    nth: int
    repeats: Attempt | None
    carried: tuple[Carried, ...]
    proven: bool
    outcome: Answered | Failed | None = None
    brought: tuple[Origin, ...] = ()

    @property
    def kind(self) -> str:
        """What the request was for, in words."""
        if self.call is None:
            return {HELLO: GREETING, ACCOUNT: BALANCE}.get(self.sent.slot, UNPLANNED)
        return LINKED if self.call.slot != self.sent.slot else KINDS[self.call.purpose]

    @property
    def answer(self) -> Answered | None:
        """What came back, whatever its status."""
        return self.outcome if isinstance(self.outcome, Answered) else None

    @property
    def failure(self) -> str | None:
        """Why nothing came back."""
        return self.outcome.reason if isinstance(self.outcome, Failed) else None

    @property
    def usable(self) -> bool:
        """Whether it was answered with success."""
        return self.answer is not None and self.answer.status == HTTPStatus.OK


@dataclass(frozen=True)
class Grant:
    """A receipt that went on record; it did not cross the wire.

    Attributes:
        line: Line of the transcript, from 1.
        receipt: The receipt.
        before: Attempts that had left by then.
        proven: Whether it stands before any break of the chain.
    """

    line: int
    receipt: Receipt
    before: int
    proven: bool


@dataclass
class Story:
    """All steps of a run; made by ``told``."""

    plan: PublicPlan | None
    steps: list[Attempt | Grant] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    _arrived: dict[str, Origin] = field(default_factory=dict)
    named: dict[str, Origin] = field(default_factory=dict)
    _receipts: dict[int, Receipt] = field(default_factory=dict)
    _tries: dict[str, list[Attempt]] = field(default_factory=dict)

    @property
    def returned(self) -> dict[tuple[str | None, str], int]:
        """The first attempt that sent an image back, by the image's name and digest."""
        found: dict[tuple[str | None, str], int] = {}
        for attempt in self.attempts:
            for each in attempt.carried:
                if each.origin is not None:
                    found.setdefault((each.origin.id, each.digest), attempt.number)
        return found

    def take(self, line: int, record: Record, proven: bool) -> None:
        """Go on by one record."""
        match record:
            case Released(receipt=receipt):
                self._receipts[receipt.iteration] = receipt
                grant = Grant(line, receipt, len(self.attempts), proven)
                self.grants.append(grant)
                self.steps.append(grant)
            case Sent():
                self._send(line, record, proven)
            case Answered() | Failed():
                self._end(record)
            case Received(slot=slot, outputs=outputs):
                self._name(slot, outputs)

    def _send(self, line: int, sent: Sent, proven: bool) -> None:
        call = None if self.plan is None else self.plan.calls.get(planned_slot(sent.slot))
        tries = self._tries.setdefault(sent.slot, [])
        repeats = next((each for each in tries if _same(each.sent, sent)), None)
        due = None if call is None or call.slot != sent.slot else call  # what follows a link carries nothing
        carried = tuple(self._why(due, digest) for digest in dict.fromkeys(sent.body.files))
        number = len(self.attempts) + 1
        attempt = Attempt(number, line, sent, call, len(tries) + 1, repeats, carried, proven)
        tries.append(attempt)
        self.attempts.append(attempt)
        self.steps.append(attempt)

    def _end(self, outcome: Answered | Failed) -> None:
        """An outcome belongs to the last attempt at its slot."""
        tries = self._tries.get(outcome.slot)
        if not tries or tries[-1].outcome is not None:
            return
        tries[-1].outcome = outcome
        if isinstance(outcome, Answered):
            found = (Origin(each, tries[-1].number, outcome.slot) for each in outcome.body.files)
            tries[-1].brought = tuple(found)
            for each in tries[-1].brought:
                self._arrived.setdefault(each.digest, each)

    def _name(self, slot: str, outputs: Sequence[str]) -> None:
        """Give what an answer brought its names."""
        answered = [each for each in self._tries.get(slot, ()) if each.usable]
        if not answered or answered[-1].call is None:
            return
        last, call = answered[-1], answered[-1].call
        last.brought = tuple(
            Origin(digest, last.number, slot, call.output(index)) for index, digest in enumerate(outputs)
        )
        for each in last.brought:
            self.named[each.id or ""] = each
            self._arrived[each.digest] = self._arrived.get(each.digest) or each

    def _why(self, call: Call | None, digest: str) -> Carried:
        """The reason for an image to leave with a call, as far as there is one on record by now."""
        chosen, receipt = self._due(call)
        if chosen is None or chosen.digest != digest:
            return Carried(digest, self._arrived.get(digest))
        origin = self.named.get(chosen.id)
        if origin is None or origin.digest != digest:
            return Carried(digest, self._arrived.get(digest))
        return Carried(digest, origin, receipt, planned=receipt is None)

    def _due(self, call: Call | None) -> tuple[Chosen | None, Receipt | None]:
        """The image that a call has to carry, and the receipt that says so; the plan itself needs none."""
        if call is None:
            return None, None
        if call.source is not None:
            origin = self.named.get(call.source)
            return (None if origin is None else Chosen(call.source, origin.digest)), None
        receipt = self._receipts.get(call.iteration)
        if call.parent is None or receipt is None:
            return None, None
        chosen = receipt.of(call.label)
        return (chosen[call.parent] if call.parent < len(chosen) else None), receipt


def told(entries: Iterable[Entry], plan: PublicPlan | None, proven: int) -> Story:
    """Tell the story of a record of which the first ``proven`` lines form a chain."""
    story = Story(plan)
    for place, entry in enumerate(entries):
        story.take(entry.seq + 1, entry.record, place < proven)
    return story


def _same(one: Sent, other: Sent) -> bool:
    return (one.method, one.url, one.headers, one.body) == (
        other.method,
        other.url,
        other.headers,
        other.body,
    )
