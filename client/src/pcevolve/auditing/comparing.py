"""The gate in comparing mode: it compares the request that is due with the recorded request.

``evolve`` uses this gate in place of the sending gate. The same ``Policy`` builds the requests, so one rule decides
what may be sent and when. The answers come from the record. Every line of the record is taken once, in order. A
misplaced line ends the comparison; any other difference is noted and the comparison continues.

::

    record   = opened greeting balance trial planned (round | release)* finished
    greeting = exchange* until one succeeds
    balance  = trial = exchange* until an answer reports more than a temporary fault
    round    = calls in the plan's order, with at most the plan's number of images in flight
    call     = (exchange | step | link | cancellation)+ received;  each of these = sent (answered | failed)

Each step of a job follows from the answers before it. A job may be cancelled once, even while a step is in flight.
Outputs of a call may be missing if its last answer is final for it (``egress.losses``). Later calls then need not
wait. A resumed run sends all such calls again, in the plan's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from pcevolve.auditing.lines import KeyLength, Lines, OutOfPlaceError
from pcevolve.auditing.under_way import UnderWay
from pcevolve.errors import EgressError, ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.loop.evolution import Ask
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Receipt
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    TRIAL_SLOT,
    Answered,
    Failed,
    Finished,
    Opened,
    Planned,
    Received,
    Record,
    RecordedRelease,
    Sent,
    part_of,
    planned_slot,
)
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.policy import Policy, Source
from pcevolve.wire.egress.transport import HIDDEN, KEY_HEADERS, Incoming, Outgoing
from pcevolve.wire.providers.codec import model_named
from pcevolve.wire.providers.dialect import Dialect

STAND_IN = ":"
"""Placeholder for a key, whose value is not on record; valid in every scheme."""
LONGEST_KEY = 5000
"""Largest number of characters of a key."""


@dataclass
class ComparingGate:
    """An ``UntrustedGenerator`` that answers from the record. ``faults`` lists the differences, each with its line."""

    run: RunReader
    dialect: Dialect
    plan: PublicPlan | None
    faults: list[str] = field(default_factory=list)
    lines: Lines = field(init=False)
    key: KeyLength = field(default_factory=KeyLength)
    policy: Policy = field(init=False)
    _under_way: dict[str, UnderWay] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Place the gate before the first line of the record."""
        self.lines = Lines(self.run.entries)
        self.address = Address(self.run.opened.api, STAND_IN, self.dialect.abilities.scheme)
        self.policy = Policy(self.dialect, self.address, self.run.bodies)

    def begin(self) -> None:
        """Compare everything up to the plan.

        Raises:
            OutOfPlaceError: A line is misplaced.
            RecordEndsError: The record ends before the plan.
            EgressError: The plan is for another API, or differs from its requests.
        """
        self.lines.take(Opened, "the opening line")
        greets = self.run.opened.greets
        while greets:
            outcome = self._exchange(GREETING_SLOT, self.policy.greeting_request(), "the greeting")
            greets = not (isinstance(outcome, Answered) and outcome.succeeded)
        self._compare_questions()
        self.lines.take(Planned, "the plan")
        if self.plan is not None:
            # An audit has no ledger. It checks recorded receipts against measurements and payments instead.
            self.policy.fix(self.plan, lambda receipt: True)

    def _compare_questions(self) -> None:
        """Compare the optional requests before the plan: first for the balance, then for two texts at once."""
        for slot in (BALANCE_SLOT, TRIAL_SLOT):
            # The number of repetitions could carry a message, so a request is repeated only if the next answer may
            # differ.
            due = True
            while due and isinstance(sent := self.lines.next(), Sent) and sent.slot == slot:
                question = self.policy.balance_request() if slot == BALANCE_SLOT else self._trial(sent)
                if question is None:
                    return
                outcome = self._exchange(slot, question, "a question about the API")
                due = isinstance(outcome, Failed) or self._may_pass(outcome)

    def _trial(self, sent: Sent) -> Outgoing | None:
        model = model_named(self.run.bodies.get(sent.body)) if self.plan is None else self.plan.provider.model
        return self.policy.trial_request(model or "")

    def _may_pass(self, answer: Answered) -> bool:
        """True if the next answer may differ, because this answer reports a temporary fault."""
        body = self.run.bodies.get(answer.body)
        return not answer.succeeded and self.dialect.fault(answer.status, body).passes

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Yield the recorded candidates of each call of a round.

        Raises:
            OutOfPlaceError: A line is misplaced.
            RecordEndsError: The record ends before the round does.
        """
        begun, done = 0, dict[str, tuple[Candidate, ...]]()
        for call, _ in asks:
            while call.slot not in done:
                record = self.lines.next()
                due = asks[begun][0].slot if begun < len(asks) else None
                if isinstance(record, Sent | Received) and record.slot == due:
                    self._pass_over(asks[begun][0])
                    self._begin(*asks[begun], record)
                    begun += 1
                elif not self._go_on(record, done):
                    oldest = next(iter(self._under_way.values()), None)
                    raise self.lines.misplaced(f"request {due}" if oldest is None else oldest.due)
            yield done.pop(call.slot)

    def take_receipt(self, iteration: int) -> Receipt:
        """Take the receipt of a release, which precedes the requests that it allows.

        Raises:
            OutOfPlaceError: Another line is in its place.
        """
        due = f"the receipt for iteration {iteration}"
        receipt = self.lines.take(RecordedRelease, due).receipt
        if receipt.iteration != iteration:
            raise self.lines.misplaced(due, last=True)
        self.policy.require_committed(receipt)
        return receipt

    def finish(self) -> None:
        """Compare the closing line, which must be the last line.

        Raises:
            OutOfPlaceError: Another line is in its place, or a line follows.
        """
        finished, sent = self.lines.take(Finished, "the closing line"), self.lines.count_sent()
        if finished.sent != sent:
            raise OutOfPlaceError(
                f"line {self.lines.place}: counts {finished.sent} requests, and {sent} are on record"
            )
        if self.lines.place < len(self.lines.entries):
            raise self.lines.misplaced("nothing, for the record is closed")

    def _begin(self, call: Call, source: Source, record: Sent | Received) -> None:
        """Start a call if it is due: with a request, or without one if its source was withheld."""
        try:
            expected = self.policy.request_for(call, source)
        except EgressError as error:
            raise OutOfPlaceError(f"line {self.lines.place + 1}: {error}") from error
        parent = None if source is None else source.candidate.id
        known = self._under_way[call.slot] = UnderWay(self.policy, call, expected, parent)
        unsent = self.policy.varies_what_was_withheld(call)
        if unsent == isinstance(record, Sent):
            raise self.lines.misplaced(f"what {call.slot} brought" if unsent else f"request {call.slot}")
        known.unsent = unsent
        if isinstance(record, Sent):
            self._send(known, record)

    def _pass_over(self, call: Call) -> None:
        """If a call is not due yet, accept that earlier calls without outputs were skipped."""
        for known in self._under_way.values():
            if self.policy.may_begin(call):
                return
            if not known.held and known.waiting is None and known.is_lost():
                known.held = True
                self.policy.note_held(known.call)

    def _go_on(self, record: Record, done: dict[str, tuple[Candidate, ...]]) -> bool:
        """Take a line of a call in flight; False if it belongs to no such call, or is not the call's next line."""
        if not isinstance(record, Sent | Answered | Failed | Received):
            return False
        known = self._under_way.get(planned_slot(record.slot))
        if known is None:
            return False
        if isinstance(record, Sent):
            return self._send(known, record)
        if isinstance(record, Answered | Failed):
            return self._take_outcome(known, record)
        if known.waiting is not None or known.cancelling or record.slot != known.call.slot:
            return False
        brought = known.list_brought()
        if not brought:
            return False
        self._pass_over(known.call)
        done[record.slot] = self._end(known, record, brought)
        return True

    def _send(self, known: UnderWay, sent: Sent) -> bool:
        """Compare an attempt at a call, a step or cancellation of its job, or a link of its answer."""
        part = part_of(sent.slot)
        if part == "cancel":
            return self._cancel(known, sent)
        if known.waiting is not None or known.unsent:
            return False
        if part == "call" and not self._may_ask_again(known):
            return False
        if part == "job" and (known.step is None or sent.slot != known.step_slot):
            return False
        self.lines.place += 1
        known.waiting, known.asked = sent.slot, sent.url
        if part == "call":
            self._compare(sent, known.expected)
        elif part == "job" and known.step is not None:
            self._compare(sent, known.step)
        elif not known.points_to(sent.slot, sent.url):
            self._note(sent, "the provider had not pointed there, or to something before it")
        else:
            self._compare_link(sent, known.requests[sent.slot, sent.url])
        return True

    def _cancel(self, known: UnderWay, sent: Sent) -> bool:
        """Compare the request that cancels a job."""
        expected = known.cancellation
        if expected is None or known.cancelling or sent.slot != known.cancel_slot:
            return False
        self.lines.place += 1
        self._compare(sent, expected)
        known.cancelling = sent.slot
        known.answers[-1].cancelled += 1
        return True

    def _may_ask_again(self, known: UnderWay) -> bool:
        """True if a call may be sent again.

        If later calls went on without it, all skipped calls are sent again in order.
        """
        brought = map(known.brought, known.answers)
        if known.fetching or any(each is not None and each.error is None for each in brought):
            return False
        if not known.held:
            return True
        for each in self._under_way.values():
            if each.held:
                each.held, each.since = False, len(each.own)
        self.policy.forget_held()
        return self.policy.may_begin(known.call)

    def _take_outcome(self, known: UnderWay, outcome: Answered | Failed) -> bool:
        if outcome.slot not in (known.waiting, known.cancelling):
            return False
        self.lines.place += 1
        if outcome.slot == known.waiting:
            known.waiting = None
        else:
            known.cancelling = None
        self.key.note(outcome, () if self.plan is None else self.plan.calls)
        outcomes = known.outcomes.setdefault(outcome.slot, [])
        outcomes.append(outcome)
        if isinstance(outcome, Answered):
            self._require_length(outcome)
            if outcome.succeeded:
                known.read(outcome, self.run.bodies.get(outcome.body))
                return True
        part = part_of(outcome.slot)
        if part == "job" and self.policy.is_gone(outcomes):
            known.lose()
        if part == "link" and self.policy.is_dead(outcomes):
            known.found[outcome.slot, known.asked] = ProviderReplyError("it cannot be had")
        return True

    def _end(self, known: UnderWay, received: Received, brought: list[list[bytes]]) -> tuple[Candidate, ...]:
        """Name the outputs of a call."""
        self.lines.place += 1
        del self._under_way[known.call.slot]
        several = [
            tuple(
                Candidate.received(known.call, index, known.parent, data)
                for index, data in enumerate(outputs)
            )
            for outputs in brought
        ]
        same = [made for made in several if received.outputs == tuple(each.digest for each in made)]
        made = (same or several)[0]
        if not same:
            where = f"answer {received.slot} (line {self.lines.place})"
            self.faults.append(f"{where}: brought other outputs than are on record")
        self.policy.note_answer(known.call, made)
        # A refusal is an answer too. It must not allow changes of the key from now on.
        self.key.failed.discard(received.slot)
        return made

    def _exchange(self, slot: str, expected: Outgoing, due: str) -> Answered | Failed:
        """Compare one attempt at a request that is not a call of the plan, and return its outcome."""
        sent = self.lines.take(Sent, due)
        if sent.slot != slot:
            raise self.lines.misplaced(due, last=True)
        self._compare(sent, expected)
        outcome = self.lines.next()
        if not isinstance(outcome, Answered | Failed) or outcome.slot != slot:
            raise self.lines.misplaced(f"what came of request {slot}")
        self.lines.place += 1
        self.key.note(outcome, ())
        if isinstance(outcome, Answered):
            self._require_length(outcome)
        return outcome

    def _require_length(self, answer: Answered) -> None:
        """Note a fault if an answer's recorded length is not that of its headers and body."""
        frame = Incoming(answer.status, answer.headers, b"").wire_bytes
        if answer.wire_bytes != frame + answer.body.size:
            self.faults.append(
                f"answer {answer.slot} (line {self.lines.place}): its recorded length is wrong"
            )

    def _compare(self, sent: Sent, expected: Outgoing) -> None:
        """Compare a request with the request that the gate would send, which holds a placeholder as key."""
        has_key = any((name, HIDDEN) in sent.headers for name in KEY_HEADERS)
        if not has_key:
            expected = replace(
                expected, headers=tuple(each for each in expected.headers if each[0] not in KEY_HEADERS)
            )
        longer = sent.wire_bytes - expected.wire_bytes
        self._note(
            sent,
            self._difference(sent, expected)
            or _misstates_length(longer, LONGEST_KEY if has_key else 1)
            or self.key.fault(longer if has_key else None),
        )

    def _compare_link(self, sent: Sent, expected: Outgoing) -> None:
        """Compare a request with the request for the provider's link. A request to another host carries no key."""
        if any(name in KEY_HEADERS for name, _ in expected.headers):
            self._compare(sent, expected)
            return
        carried = (
            None if sent.headers == expected.headers else "carried headers that no link is followed with"
        )
        self._note(
            sent,
            carried
            or self._difference(sent, expected)
            or _misstates_length(sent.wire_bytes - expected.wire_bytes, 1),
        )

    def _difference(self, sent: Sent, expected: Outgoing) -> str | None:
        if (sent.method, sent.url) != (expected.method, expected.url):
            return f"went to {sent.method} {urlsplit(sent.url).path}, not where the plan says"
        if self.run.bodies.get(sent.body) != expected.body:
            return "its body differs from what the plan and the receipt give"
        if sent.headers != expected.recorded_headers():
            return "carried headers that the plan does not give"
        return None

    def _note(self, sent: Sent, fault: str | None) -> None:
        if fault is not None:
            self.faults.append(f"request {sent.slot} (line {self.lines.place}): {fault}")


def _misstates_length(longer: int, most: int) -> str | None:
    """Return the fault of a request's recorded length, allowing for the placeholder key; None if it is right."""
    return None if 0 <= longer < most else "its recorded length is wrong"
