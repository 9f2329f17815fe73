"""Replays a transcript: what each request should have been, given the plan and what had come back before.

It goes through the record as the provider saw it and predicts every request from public facts: the plan, the
receipts, and the provider's own earlier answers.

This is a second implementation, on purpose, of the rules by which the gate lets requests out (``pcevolve.rules`` and
``egress.policy``): an auditor does not take the gate's word. It imports nothing of either, and an import contract keeps
it so. Both stand on the same primitives, which decide nothing: the dialects, ``Address`` and ``Outgoing``, what a link
may lead to (``egress.links``), how large an answer may be (``egress.bounds``), and the public types. A test runs both
on generated records, honest and forged, and compares what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from pcevolve.egress.bounds import of_asked_size
from pcevolve.egress.links import follow, of_bearable_size
from pcevolve.egress.transport import HIDDEN, Address, Outgoing
from pcevolve.errors import ClientError, ProviderReplyError
from pcevolve.providers.dialect import Dialect, WireRequest
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import Bodies
from pcevolve.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    Answered,
    Extended,
    Failed,
    Planned,
    Received,
    Released,
    Sent,
    link_slot,
    planned_slot,
)

STAND_IN = ":"
"""For a key, whose value is not on record; of a form that every scheme takes."""
LONGEST_KEY = 5000
"""Characters."""


class Pointer(NamedTuple):
    """An answer that only points to its images.

    Attributes:
        body: The answer.
        at: Slot and address of each image.
    """

    body: bytes
    at: tuple[tuple[str, str], ...]


@dataclass
class Replay:
    """State of the auditor while it reads the record.

    Attributes:
        wordings: By which of its class's prompts each image was made, by id, in plans that vary by prompt.
        key: How much longer than ``STAND_IN`` the API key was in the last request; None where none was sent.
        failed: Slots of the calls whose last attempt brought no success; there is one at first, and where the run is
            extended: only then may a key be exchanged.
        done: Slots of the calls that were answered.
        places: Of the calls in the plan, by slot.
        first: Place of the first call that was not.
        left: How many calls have left, for they leave in the plan's order.
    """

    run: RunReader
    plan: PublicPlan
    dialect: Dialect
    begun: bool = False
    done: set[str] = field(default_factory=set)
    first: int = 0
    left: int = 0
    places: dict[str, int] = field(init=False)
    received: dict[str, Candidate] = field(default_factory=dict)
    wordings: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    receipts: dict[int, Receipt] = field(default_factory=dict)
    pointed: dict[str, list[Pointer]] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    found: dict[tuple[str, str], bytes] = field(default_factory=dict)
    key: int | None = None
    failed: set[str] = field(default_factory=lambda: {GREETING_SLOT})

    def __post_init__(self) -> None:
        """Number the calls of the plan."""
        self.places = {slot: place for place, slot in enumerate(self.plan.calls)}

    @property
    def bodies(self) -> Bodies:
        """What crossed the wire."""
        return self.run.bodies

    def faults(self) -> Iterator[str]:
        """Every request that is not what it should have been, in order."""
        calls = tuple(self.plan.calls.values())
        for entry in self.run.entries:
            record = entry.record
            if isinstance(record, Answered | Failed):
                self._note_success(record)
            if isinstance(record, Extended):
                self.failed.add(GREETING_SLOT)  # it may be years later, and the owner have another key
            if isinstance(record, Planned):
                self.begun = True
            elif isinstance(record, Released):
                self.receipts[record.receipt.iteration] = record.receipt
            elif isinstance(record, Answered):
                self._learn(record, calls)
            elif isinstance(record, Received) and record.outputs != self.outputs.get(record.slot):
                yield f"answer {record.slot} (line {entry.seq + 1}): brought other outputs than are on record"
            elif isinstance(record, Sent):
                self.asked[record.slot] = record.url
                fault = self._fault(record, calls)
                if fault is not None:
                    yield f"request {record.slot} (line {entry.seq + 1}): {fault}"
        if self.run.finished and len(self.done) != len(calls):
            yield f"{len(self.done)} of {len(calls)} planned requests were answered, yet the run was closed"

    def _note_success(self, outcome: Answered | Failed) -> None:
        """Take note of whether an attempt succeeded; what is not of the plan counts until anything does."""
        slot = planned_slot(outcome.slot)
        if isinstance(outcome, Answered) and outcome.status == HTTPStatus.OK:
            self.failed = {each for each in self.failed if each in self.plan.calls and each != slot}
        else:
            self.failed.add(slot)

    def _learn(self, answer: Answered, calls: tuple[Call, ...]) -> None:
        """Take note of what the provider sent."""
        call = self.plan.calls.get(planned_slot(answer.slot))
        if call is None or answer.status != HTTPStatus.OK or not self._is_due(call, calls):
            return
        body = self.bodies.get(answer.body)
        with suppress(ProviderReplyError):
            if answer.slot == call.slot:
                links = enumerate(self.dialect.links(call, body))
                at = tuple((link_slot(call.slot, place), link) for place, link in links)
                self.pointed.setdefault(call.slot, []).append(Pointer(body, at))
            else:
                self.found[answer.slot, self.asked.get(answer.slot, "")] = of_bearable_size(body)
        self._complete(call)

    def _complete(self, call: Call) -> None:
        """Name what a call brought, once all of it is there."""
        for pointer in self.pointed.get(call.slot, ()):
            if not all(each in self.found for each in pointer.at):
                continue
            with suppress(ProviderReplyError):
                sent = self.dialect.decode(call, pointer.body, [self.found[each] for each in pointer.at])
                made = of_asked_size(self.plan, sent)
                named = [Candidate.received(call, index, None, data, "") for index, data in enumerate(made)]
                self.received.update((each.id, each) for each in named)
                self.outputs[call.slot] = tuple(each.digest for each in named)
                self._note_wordings(call, named)
                self.done.add(call.slot)
                del self.pointed[call.slot]
                return

    def _is_due(self, call: Call, calls: tuple[Call, ...]) -> bool:
        """Whether a call has no answer yet and may be under way: it is of the oldest such call's round, and near it.

        Nor has any before it yet to leave.
        """
        while self.first < len(calls) and calls[self.first].slot in self.done:
            self.first += 1
        if call.slot in self.done or self.first == len(calls):
            return False
        oldest, images = calls[self.first], 0
        for place, each in enumerate(calls[self.first : self.first + self.plan.at_once], self.first):
            images += each.count
            if (each.purpose, each.iteration) != (oldest.purpose, oldest.iteration):
                return False
            if each == call:
                return each is oldest or (images <= self.plan.at_once and place <= max(self.left, self.first))
        return False

    def _fault(self, sent: Sent, calls: tuple[Call, ...]) -> str | None:
        question = {GREETING_SLOT: self.dialect.hello(), BALANCE_SLOT: self.dialect.balance_request()}.get(
            sent.slot
        )
        if question is not None:
            return "asked after the plan was fixed" if self.begun else self._compare(sent, question)
        call = self.plan.calls.get(planned_slot(sent.slot))
        if call is None:
            return "not in the public plan"
        if not self._is_due(call, calls):
            return "out of order, or asked again after it was answered"
        try:
            if sent.slot != call.slot:
                return self._compare_link(sent, call)
            self.left = max(self.left, self.places[call.slot] + 1)
            return self._compare(sent, self._expected(call))
        except ClientError as error:
            return str(error)

    def _compare_link(self, sent: Sent, call: Call) -> str | None:
        """What is wrong with a request for an image that the provider only pointed to."""
        if not any((sent.slot, sent.url) in pointer.at for pointer in self.pointed.get(call.slot, ())):
            return "the provider had not pointed there"
        expected = follow(self.plan, sent.url)
        if sent.headers != expected.headers:
            return "carried headers that no link is followed with"
        return self._differs(sent, expected) or self._too_long(sent.wire_bytes - expected.wire_bytes, 1)

    def _expected(self, call: Call) -> WireRequest:
        if self.plan.varies_prompts:
            return self.dialect.encode(self.plan, replace(call, wording=self._wording(call)), None)
        return self.dialect.encode(self.plan, call, self._image(call))

    def _image(self, call: Call) -> bytes | None:
        """The bytes that a call has to carry."""
        if call.purpose == "create":
            return None
        return self.bodies.file(self._source(call).digest)

    def _wording(self, call: Call) -> int:
        """Which of its class's prompts a call has to go out with: its own, or that of the image that it varies."""
        if call.purpose == "create":
            return call.first * len(self.plan.prompts[0]) // self.plan.initial
        source = self._source(call).id
        if source not in self.wordings:
            raise ProviderReplyError("it varies an image of which no prompt is known")
        return self.wordings[source]

    def _note_wordings(self, call: Call, named: list[Candidate]) -> None:
        """Take note by which prompt images were made; of a request that had no reason to leave nothing is known."""
        if self.plan.varies_prompts:
            with suppress(ProviderReplyError):
                self.wordings.update(dict.fromkeys((each.id for each in named), self._wording(call)))

    def _source(self, call: Call) -> Chosen:
        """The image that a call has to carry."""
        if call.source is not None:
            return self._echoed(call.source)
        named = self._released(call)
        known = self.received.get(named.id)
        if known is None or known.digest != named.digest:
            raise ProviderReplyError("its receipt names an image that the provider had not sent")
        if known.label != call.label:
            raise ProviderReplyError("its receipt names an image of another class")
        if known.iteration >= call.iteration:
            raise ProviderReplyError("its receipt names an image of no earlier iteration")
        return named

    def _echoed(self, source: str) -> Chosen:
        """What the plan itself sends back."""
        if source not in self.received:
            raise ProviderReplyError("the plan names an image that the provider had not sent")
        return Chosen(source, self.received[source].digest)

    def _released(self, call: Call) -> Chosen:
        """What a receipt sends back."""
        receipt = self.receipts.get(call.iteration)
        chosen = () if receipt is None else receipt.of(call.label)
        if call.parent is None or call.parent >= len(chosen):
            raise ProviderReplyError("its image has no receipt for this class and iteration")
        if receipt is not None and receipt.run_id != self.plan.run_id:
            raise ProviderReplyError("its receipt is of another run")
        return chosen[call.parent]

    def _compare(self, sent: Sent, expected: WireRequest) -> str | None:
        """What differs between the record and the prediction, in which a stand-in takes the place of the key."""
        has_key = ("Authorization", HIDDEN) in sent.headers
        address = Address(self.plan.api, STAND_IN if has_key else None, self.dialect.scheme)
        outgoing = address.outgoing(expected)
        longer = sent.wire_bytes - outgoing.wire_bytes
        return (
            self._differs(sent, outgoing)
            or self._too_long(longer, LONGEST_KEY if has_key else 1)
            or self._another_key(longer if has_key else None)
        )

    @staticmethod
    def _too_long(longer: int, most: int) -> str | None:
        return None if 0 <= longer < most else "its recorded length is wrong"

    def _another_key(self, key: int | None) -> str | None:
        """A key's value is not on record, but that it is the same one is: its length could say something."""
        before, self.key = self.key, key
        same = key == before or bool(self.failed)
        return None if same else "was sent with another key than the request before it, which had succeeded"

    def _differs(self, sent: Sent, outgoing: Outgoing) -> str | None:
        if (sent.method, sent.url) != (outgoing.method, outgoing.url):
            return f"went to {sent.method} {urlsplit(sent.url).path}, not where the plan says"
        if self.bodies.get(sent.body) != outgoing.body:
            return "its body differs from what the plan and the receipt give"
        if sent.headers != outgoing.recorded_headers():
            return "carried headers that the plan does not give"
        return None
