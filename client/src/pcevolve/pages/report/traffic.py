"""What crossed the wire, counted, and whether every image that left had a reason to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate

from pcevolve.public.plan import Call, PublicPlan, Purpose
from pcevolve.public.release import Receipt
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

GREETING = "greeting (list of models)"
BALANCE = "account's balance"
LINKED = "images behind the API's links"
CREATE = "text-to-image"
VARY = "image-to-image"
LOOK = "lookahead (planned for all candidates)"
EXTEND = "more samples (planned for all of the last round)"
UNPLANNED = "NOT IN THE PLAN"
KINDS: dict[Purpose, str] = {"create": CREATE, "vary": VARY, "look": LOOK, "extend": EXTEND}


@dataclass
class Kind:
    """Counts for one kind of request.

    Attributes:
        slots: Planned requests that were made.
        attempts: How often they were sent, retries included.
        unanswered: Attempts that brought no answer, or one with an error status.
        bytes_sent: HTTP request lines, headers and bodies.
        bytes_received: HTTP status lines, headers and bodies.
        images: Digests of the images that were sent.
    """

    name: str
    slots: set[str] = field(default_factory=set)
    attempts: int = 0
    unanswered: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    images: set[str] = field(default_factory=set)

    @property
    def retries(self) -> int:
        """Attempts beyond the first."""
        return self.attempts - len(self.slots)


class Traffic:
    """Counts of a whole transcript."""

    def __init__(self, entries: Iterable[Entry], plan: PublicPlan) -> None:
        self._plan = plan
        self._kinds = {name: Kind(name) for name in (GREETING, BALANCE, *KINDS.values(), LINKED, UNPLANNED)}
        self._by_iteration = [[0, 0] for _ in range(plan.iterations + 1)]
        self._received: set[str] = set()
        self._receipts: dict[int, Receipt] = {}
        self._outputs: dict[str, str] = {}
        self.unexplained = 0
        """Images that left although the provider had not sent them, or neither a receipt nor the plan named them."""
        for entry in entries:
            self._count(entry.record)

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of request that occurred."""
        return [kind for kind in self._kinds.values() if kind.attempts]

    @property
    def total(self) -> Kind:
        """All kinds together."""
        kinds = self.kinds
        return Kind(
            "total",
            set().union(*(kind.slots for kind in kinds)),
            sum(kind.attempts for kind in kinds),
            sum(kind.unanswered for kind in kinds),
            sum(kind.bytes_sent for kind in kinds),
            sum(kind.bytes_received for kind in kinds),
            set().union(*(kind.images for kind in kinds)),
        )

    def cumulative(self) -> tuple[Sequence[int], Sequence[int]]:
        """Bytes sent and received by the end of each iteration."""
        sent, received = zip(*self._by_iteration, strict=True)
        return list(accumulate(sent)), list(accumulate(received))

    def _count(self, record: Record) -> None:
        match record:
            case Released(receipt=receipt):
                self._receipts[receipt.iteration] = receipt
            case Received(slot=slot, outputs=outputs):
                self._name(self._plan.calls.get(slot), outputs)
            case Sent():
                self._count_sent(record)
            case Answered():
                self._count_answered(record)
            case Failed(slot=slot):
                self._kind(slot).unanswered += 1

    def _count_sent(self, sent: Sent) -> None:
        kind = self._kind(sent.slot)
        kind.slots.add(sent.slot)
        kind.attempts += 1
        kind.bytes_sent += sent.wire_bytes
        kind.images.update(sent.body.files)
        self._by_iteration[self._iteration(sent.slot)][0] += sent.wire_bytes
        allowed = self._allowed(self._plan.calls.get(sent.slot))
        self.unexplained += len(set(sent.body.files) - (allowed & self._received))

    def _count_answered(self, answer: Answered) -> None:
        kind = self._kind(answer.slot)
        kind.bytes_received += answer.wire_bytes
        kind.unanswered += answer.status != HTTPStatus.OK
        self._by_iteration[self._iteration(answer.slot)][1] += answer.wire_bytes
        self._received.update(answer.body.files)

    def _name(self, call: Call | None, outputs: Sequence[str]) -> None:
        """Remember what a call brought, by candidate id."""
        if call is not None:
            self._outputs.update((call.output(index), digest) for index, digest in enumerate(outputs))

    def _allowed(self, call: Call | None) -> set[str]:
        """Digests of what a call may carry: what a receipt chose, or what the plan itself names."""
        if call is None:
            return set()
        if call.source is not None:
            return {self._outputs.get(call.source, "")}
        receipt = self._receipts.get(call.iteration)
        return set() if receipt is None else {each.digest for each in receipt.of(call.label)}

    def _iteration(self, slot: str) -> int:
        """The iteration that a request belongs to; what comes before the first one counts as part of it."""
        call = self._plan.calls.get(planned_slot(slot))
        return 0 if call is None else call.iteration

    def _kind(self, slot: str) -> Kind:
        call = self._plan.calls.get(planned_slot(slot))
        if call is None:
            return self._kinds[{HELLO: GREETING, ACCOUNT: BALANCE}.get(slot, UNPLANNED)]
        return self._kinds[KINDS[call.purpose] if call.slot == slot else LINKED]
