"""Pair every attempt at a request with its outcome, in order.

All counts of requests, bytes, images and costs are sums over these attempts. This module only pairs attempts with
outcomes. Other modules check the order of the lines, and that each image had a reason to be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pcevolve.public.calls import Call, Purpose
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    TRIAL_SLOT,
    Answered,
    Failed,
    Received,
    Record,
    RecordedRelease,
    Sent,
    part_of,
    planned_slot,
)

GREETING: Final = "greeting (list of models)"
BALANCE: Final = "account's balance"
TRIAL: Final = "trial (two at once)"
LINKED: Final = "images behind the API's links"
JOBS: Final = "steps of jobs (what became of them, or that they end)"
UNPLANNED: Final = "NOT IN THE PLAN"
KINDS: Final[dict[Purpose, str]] = {
    "create": "creation",
    "follow": "variation (of the release that the run starts from)",
    "vary": "variation",
    "look": "lookahead (planned for all candidates)",
    "extend": "more samples (planned for all of the last round)",
}
BY_PROMPT: Final = "creation (by a prototype's prompt)"
ALL_KINDS: Final = (GREETING, BALANCE, TRIAL, *KINDS.values(), BY_PROMPT, JOBS, LINKED, UNPLANNED)
"""The purposes of requests, in words."""


@dataclass(eq=False)
class Attempt:
    """A request that was sent once. Attempts and transcript lines are numbered from 1.

    Attributes:
        call: The plan's call; None for a greeting or an unplanned request. A request that follows a link or is a
            step of a job belongs to the call whose answer led to it.
        repeats: The earlier attempt that had exactly the same bytes; None if there is none.
        by_prompt: True if the plan varies images by their prompts alone.
        outcome: The outcome; None if no outcome is on record. ``over`` is the line that records it.
    """

    number: int
    line: int
    sent: Sent
    call: Call | None
    nth: int
    repeats: Attempt | None
    proven: bool
    by_prompt: bool = False
    outcome: Answered | Failed | None = None
    over: int | None = None

    @property
    def own_call(self) -> Call | None:
        """The call that this request makes itself; None for a follow-up request or an unplanned request."""
        return self.call if self.call is not None and self.call.slot == self.sent.slot else None

    @property
    def kind(self) -> str:
        """The purpose of the request, in words."""
        if self.call is None:
            known = {GREETING_SLOT: GREETING, BALANCE_SLOT: BALANCE, TRIAL_SLOT: TRIAL}
            return known.get(self.sent.slot, UNPLANNED)
        if self.own_call is None:
            return LINKED if part_of(self.sent.slot) == "link" else JOBS
        return BY_PROMPT if self.by_prompt and self.call.purpose == "vary" else KINDS[self.call.purpose]

    @property
    def carried(self) -> tuple[str, ...]:
        """Digests of the images in the request, without repetition."""
        return tuple(dict.fromkeys(self.sent.body.files))

    @property
    def answer(self) -> Answered | None:
        """The answer, whatever its status; None if there was none."""
        return self.outcome if isinstance(self.outcome, Answered) else None

    @property
    def failure(self) -> str | None:
        """Why no usable answer was received; None if an answer was received, or no outcome is on record."""
        return self.outcome.reason if isinstance(self.outcome, Failed) else None

    @property
    def usable(self) -> bool:
        """True if the attempt's answer reports success."""
        return self.answer is not None and self.answer.succeeded


@dataclass(frozen=True)
class Arrival:
    """The arrival of an attempt's answer."""

    attempt: Attempt


@dataclass(frozen=True)
class RecordedReceipt:
    """A receipt on record, with its line number from 1. It did not cross the wire."""

    line: int
    receipt: Receipt
    proven: bool


@dataclass(frozen=True)
class RecordedOutputs:
    """The digests of a call's outputs, in order, and the last successful attempt at its slot, if any."""

    slot: str
    digests: tuple[str, ...]
    attempt: Attempt | None


Step: TypeAlias = Attempt | Arrival | RecordedReceipt | RecordedOutputs
"""One step of a run, in order. An attempt is placed where it was sent, an arrival where its answer was received."""


@dataclass
class Traffic:
    """All steps of a run so far; ``plan`` is None before it is fixed."""

    plan: PublicPlan | None
    attempts: list[Attempt] = field(default_factory=list, init=False)
    receipts: list[RecordedReceipt] = field(default_factory=list, init=False)
    steps: list[Step] = field(default_factory=list, init=False)
    _tries: dict[str, list[Attempt]] = field(default_factory=dict, init=False)

    def take(self, record: Record, line: int, proven: bool = True) -> Attempt | None:
        """Add a record, and return the attempt that it starts or ends, if any. Lines are numbered from 1."""
        match record:
            case Sent():
                return self._begin(record, line, proven)
            case Answered() | Failed():
                return self._end(record, line)
            case RecordedRelease(receipt=receipt):
                self.receipts.append(RecordedReceipt(line, receipt, proven))
                self.steps.append(self.receipts[-1])
            case Received(slot=slot, outputs=outputs):
                usable = [each for each in self._tries.get(slot, ()) if each.usable]
                self.steps.append(RecordedOutputs(slot, outputs, usable[-1] if usable else None))
        return None

    def _begin(self, sent: Sent, line: int, proven: bool) -> Attempt:
        call = None if self.plan is None else self.plan.calls.get(planned_slot(sent.slot))
        by_prompt = self.plan is not None and self.plan.varies_prompts
        tries = self._tries.setdefault(sent.slot, [])
        repeats = next((each for each in tries if _same(each.sent, sent)), None)
        number = len(self.attempts) + 1
        attempt = Attempt(number, line, sent, call, len(tries) + 1, repeats, proven, by_prompt)
        tries.append(attempt)
        self.attempts.append(attempt)
        self.steps.append(attempt)
        return attempt

    def _end(self, outcome: Answered | Failed, line: int) -> Attempt | None:
        """Assign an outcome to the last attempt at its slot, unless that attempt already has one."""
        tries = self._tries.get(outcome.slot)
        if not tries or tries[-1].outcome is not None:
            return None
        tries[-1].outcome, tries[-1].over = outcome, line
        if isinstance(outcome, Answered):
            self.steps.append(Arrival(tries[-1]))
        return tries[-1]


@dataclass(frozen=True)
class Counts:
    """Totals over some attempts.

    Attributes:
        slots: Number of different requests; ``attempts`` also counts retries.
        images: Number of images that were sent, with repetition; ``distinct`` counts different images.
    """

    slots: int
    attempts: int
    unusable: int
    bytes_sent: int
    bytes_received: int
    images: int
    distinct: int

    @property
    def retries(self) -> int:
        """Attempts beyond the first at each slot."""
        return self.attempts - self.slots

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Counts:
        """Return the totals of some attempts."""
        made = list(attempts)
        left = [digest for each in made for digest in each.carried]
        return cls(
            slots=len({each.sent.slot for each in made}),
            attempts=len(made),
            unusable=sum(not each.usable for each in made),
            bytes_sent=sum(each.sent.wire_bytes for each in made),
            bytes_received=sum(each.answer.wire_bytes for each in made if each.answer is not None),
            images=len(left),
            distinct=len(set(left)),
        )

    @classmethod
    def by_kind(
        cls, attempts: Iterable[Attempt], count: Callable[[Iterable[Attempt]], Counts] | None = None
    ) -> dict[str, Counts]:
        """Return counts for each kind of request, in order of appearance. The default of ``count`` is ``of``."""
        kinds: dict[str, list[Attempt]] = {}
        for each in attempts:
            kinds.setdefault(each.kind, []).append(each)
        return {kind: (count or cls.of)(group) for kind, group in kinds.items()}


def _same(one: Sent, other: Sent) -> bool:
    """True if two requests are equal, byte for byte."""
    return (one.method, one.url, one.headers, one.body) == (
        other.method,
        other.url,
        other.headers,
        other.body,
    )
