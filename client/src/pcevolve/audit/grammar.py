"""The grammar of a transcript: which line may stand after which, so that nothing can be said between the lines.

::

    transcript = opened greeting balance? planned step* finished extension*
    extension  = extended call* finished    (each call of it, in the order that the plan gives; no release)
    greeting   = exchange* (attempts at the list of models; the last of them succeeds)
    balance    = exchange* (attempts at the account's balance, each of them before the plan)
    step       = call | release, in the order that the plan gives
    call       = exchange+ received     (attempts at the call's slot, and at the links of its answers)
    release    = released               (after the images that it chose from, before the first that it sends back)
    exchange   = sent (answered | failed), both of one slot

A run that is under way may stop anywhere. What a line says is checked elsewhere: requests by ``replay``, receipts by
``checks``; here it is only kinds, slots, order, and the counts that lines claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from pcevolve.egress.transport import Incoming
from pcevolve.public.plan import Call, PublicPlan
from pcevolve.transcript.log import Entry
from pcevolve.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    Answered,
    Extended,
    Failed,
    Finished,
    Opened,
    Planned,
    Received,
    Record,
    Released,
    Sent,
    planned_slot,
)

R = TypeVar("R", Opened, Planned, Released, Sent, Received, Finished, Extended)


class _Broken(Exception):  # noqa: N818 - it never leaves this module
    """A line that may not stand where it stands; the message says why."""


class _Over(Exception):  # noqa: N818
    """The record ends before the grammar does: the run is under way, which is no fault."""


def grammar_faults(entries: Sequence[Entry], plan: PublicPlan | None) -> Iterator[str]:
    """The first line that breaks the grammar; what follows it has no meaning."""
    try:
        _Parser(entries).transcript(plan)
    except _Broken as fault:
        yield str(fault)
    except _Over:
        return


def steps(plan: PublicPlan) -> Iterator[Call | int]:
    """What a run does after its plan is fixed, in order: calls, and the iterations of releases."""
    for iteration in range(plan.iterations + 1):
        if iteration:
            yield iteration
        yield from plan.round(iteration)
        yield from plan.lookaheads(iteration)
        if not iteration and 0 in plan.releases:
            yield 0
    if plan.selects:
        yield plan.releases[-1]
    yield from plan.extensions()


@dataclass
class _Parser:
    """Recursive descent over the lines.

    Attributes:
        entries: All lines of the record.
        place: Of the next line to be read.
    """

    entries: Sequence[Entry]
    place: int = 0

    def transcript(self, plan: PublicPlan | None) -> None:
        """Read the whole record.

        Raises:
            _Broken: A line stands where another one is due.
            _Over: There are no more lines, and more are due.
        """
        self._take(Opened, "the opening line")
        self._attempts(lambda slot: slot == GREETING_SLOT, until=_succeeded, due="the greeting")
        while self._at(Sent, BALANCE_SLOT):
            self._exchange(lambda slot: slot == BALANCE_SLOT, "a question for the balance")
        self._take(Planned, "the plan")
        for step in () if plan is None else steps(plan):
            if isinstance(step, Call):
                self._call(step)
            else:
                self._release(step)
        self._finish()
        for number, extension in enumerate(() if plan is None else plan.extended, 1):
            self._take(Extended, "an extension")
            for call in plan.enlargement(number, extension) if plan is not None else ():
                self._call(call)
            self._finish(extension=True)
        if self.place < len(self.entries):
            raise self._broken("nothing, for the record is closed")

    def _call(self, call: Call) -> None:
        """Read at least one attempt at a call, and the outputs that they brought in the end."""
        due = f"request {call.slot}"
        self._exchange(lambda slot: slot == call.slot, due)
        while not isinstance(self._peek(), Received):
            self._exchange(lambda slot: planned_slot(slot) == call.slot, due)
        received = self._take(Received, f"what {call.slot} brought")
        if received.slot != call.slot:
            raise self._broken(f"what {call.slot} brought", back=1)

    def _release(self, iteration: int) -> None:
        """Read the receipt for an iteration."""
        released = self._take(Released, f"the receipt for iteration {iteration}")
        if released.receipt.iteration != iteration:
            raise self._broken(f"the receipt for iteration {iteration}", back=1)

    def _finish(self, *, extension: bool = False) -> None:
        """Read a closing line, and make sure that its count is right."""
        finished = self._take(Finished, "the closing line")
        sent = sum(isinstance(each.record, Sent) for each in self.entries[: self.place])
        if finished.sent != sent:
            raise _Broken(f"line {self.place}: counts {finished.sent} requests, and {sent} are on record")
        if extension and finished.assessment is not None:
            raise _Broken(
                f"line {self.place}: says something of the dataset's use, of which an extension says nothing"
            )

    def _attempts(self, slot: Callable[[str], bool], until: Callable[[Record], bool], due: str) -> None:
        while not until(self._exchange(slot, due)):
            pass

    def _exchange(self, slot: Callable[[str], bool], due: str) -> Record:
        """Read one attempt: a request of a fitting slot, and its answer or failure, which is returned."""
        sent = self._take(Sent, due)
        if not slot(sent.slot):
            raise self._broken(due, back=1)
        outcome = self._peek()
        if not isinstance(outcome, Answered | Failed) or outcome.slot != sent.slot:
            raise self._broken(f"what came of request {sent.slot}")
        self.place += 1
        if isinstance(outcome, Answered):
            self._require_length(outcome)
        return outcome

    def _require_length(self, answer: Answered) -> None:
        """Make sure that an answer's recorded length is that of its headers and body."""
        frame = Incoming(answer.status, answer.headers, b"").wire_bytes
        if answer.wire_bytes != frame + answer.body.size:
            raise _Broken(f"answer {answer.slot} (line {self.place}): its recorded length is wrong")

    def _at(self, kind: type[Record], slot: str) -> bool:
        record = self._peek()
        return isinstance(record, kind) and getattr(record, "slot", None) == slot

    def _peek(self) -> Record:
        if self.place == len(self.entries):
            raise _Over
        return self.entries[self.place].record

    def _take(self, kind: type[R], due: str) -> R:
        record = self._peek()
        if not isinstance(record, kind):
            raise self._broken(due)
        self.place += 1
        return record

    def _broken(self, due: str, back: int = 0) -> _Broken:
        entry = self.entries[self.place - back]
        record = entry.record
        slot = f" {record.slot}" if isinstance(record, Sent | Answered | Failed | Received) else ""
        return _Broken(f"line {entry.seq + 1}: '{record.kind}'{slot} stands where {due} is due")


def _succeeded(outcome: Record) -> bool:
    return isinstance(outcome, Answered) and outcome.status == HTTPStatus.OK
