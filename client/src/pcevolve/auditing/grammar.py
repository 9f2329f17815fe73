"""The grammar of a transcript: which line may stand after which, so that nothing can be said between the lines.

::

    transcript = opened greeting balance? planned step* finished extension*
    extension  = extended round finished    (no release)
    greeting   = exchange* (attempts at the list of models; the last of them succeeds)
    balance    = exchange* (attempts at the account's balance, each of them before the plan)
    step       = round | release, in the order that the plan gives
    round      = call*      (in the order that the plan gives; with as many images under way at once as it says, so
                             that lines of several calls may stand among each other, first attempts in the plan's order)
    call       = exchange+ received     (attempts at the call's slot, and at the links of its answers)
    release    = released               (after the images that it chose from, before the first that it sends back)
    exchange   = sent (answered | failed), both of one slot; of a call one after the other

A run that is under way may stop anywhere. What a line says is checked elsewhere: requests by ``replay``, receipts by
``checks``; here it is only kinds, slots, order, and the counts that lines claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from pcevolve.egress.transport import Incoming
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
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


def steps(plan: PublicPlan) -> Iterator[tuple[Call, ...] | int]:
    """What a run does after its plan is fixed, in order: rounds of calls, and the iterations of releases."""
    for iteration in range(plan.iterations + 1):
        if iteration:
            yield iteration
        yield tuple(plan.round(iteration))
        yield tuple(plan.lookaheads(iteration))
        if not iteration and 0 in plan.releases:
            yield 0
    if plan.selects:
        yield plan.releases[-1]
    yield tuple(plan.extensions())


@dataclass
class _UnderWay:
    """A call that was tried, and what it brought is not on record yet.

    Attributes:
        slot: Of the call.
        place: Of the call in its round.
        waiting: Slot of the attempt that nothing came of so far; None if there is none.
    """

    slot: str
    place: int
    waiting: str | None

    @property
    def due(self) -> str:
        """What has to come next of it."""
        return f"request {self.slot}" if self.waiting is None else f"what came of request {self.waiting}"


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
            if isinstance(step, int):
                self._release(step)
            else:
                self._round(step, 1 if plan is None else plan.at_once)
        self._finish()
        for number, extension in enumerate(() if plan is None else plan.extended, 1):
            self._take(Extended, "an extension")
            if plan is not None:
                self._round(tuple(plan.enlargement(number, extension)), plan.at_once)
            self._finish(extension=True)
        if self.place < len(self.entries):
            raise self._broken("nothing, for the record is closed")

    def _round(self, calls: Sequence[Call], most: int) -> None:
        """Read at least one attempt at each call, and the outputs that they brought in the end."""
        under_way: dict[str, _UnderWay] = {}
        begun = 0
        while begun < len(calls) or under_way:
            oldest = next(iter(under_way.values()), None)
            record = self._peek()
            first = begun if oldest is None else oldest.place
            images = sum(call.count for call in calls[first : begun + 1])
            may_begin = begun < len(calls) and (begun == first or images <= most)
            if may_begin and isinstance(record, Sent) and record.slot == calls[begun].slot:
                under_way[record.slot] = _UnderWay(record.slot, begun, record.slot)
                begun += 1
            elif not self._goes_on(under_way, record):
                due = f"request {calls[begun].slot}" if oldest is None else oldest.due
                raise self._broken(self._due_of(record, oldest) or due)
            self.place += 1
            if isinstance(record, Answered):
                self._require_length(record)

    @staticmethod
    def _goes_on(under_way: dict[str, _UnderWay], record: Record) -> bool:
        """Whether a line may be the next of a call that is under way; it is noted."""
        if not isinstance(record, Sent | Answered | Failed | Received):
            return False
        call = under_way.get(planned_slot(record.slot))
        if call is None or (call.waiting is None) is isinstance(record, Answered | Failed):
            return False
        if isinstance(record, Sent):
            call.waiting = record.slot
            return True
        if isinstance(record, Received):
            return under_way.pop(record.slot, None) is not None
        fits, call.waiting = call.waiting == record.slot, None
        return fits

    @staticmethod
    def _due_of(record: Record, oldest: _UnderWay | None) -> str | None:
        """What was due instead of outputs of another call."""
        answered = oldest is not None and oldest.waiting is None
        return f"what {oldest.slot} brought" if oldest and answered and isinstance(record, Received) else None

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
