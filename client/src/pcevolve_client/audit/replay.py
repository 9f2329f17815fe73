"""Replays a transcript: what each request should have been, given the plan and what had come back before.

It goes through the record as the provider saw it and predicts every request from public facts: the plan, the
receipts, and the provider's own earlier answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..egress.bodies import Bodies
from ..egress.records import HELLO, Answered, Header, Received, Released, Sent
from ..egress.transport import HIDDEN, Address
from ..errors import ClientError, ProviderReplyError
from ..plan import Call, PublicPlan
from ..providers.dialect import Dialect, WireRequest
from ..release import Candidate, Chosen, PublicPrompt, Receipt
from .evidence import Evidence


@dataclass
class Replay:
    """State of the auditor while it reads the record."""

    evidence: Evidence
    plan: PublicPlan
    dialect: Dialect
    answered: int = 0
    received: dict[str, Candidate] = field(default_factory=dict)
    outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    receipts: dict[int, Receipt] = field(default_factory=dict)

    @property
    def bodies(self) -> Bodies:
        """What crossed the wire."""
        return self.evidence.bodies

    def faults(self) -> Iterator[str]:
        """Every request that is not what it should have been, in order."""
        slots = list(self.plan.calls)
        for entry in self.evidence.entries:
            record = entry.record
            if isinstance(record, Released):
                self.receipts[record.receipt.iteration] = record.receipt
            elif isinstance(record, Answered):
                self._learn(record, slots)
            elif isinstance(record, Received) and record.outputs != self.outputs.get(record.slot):
                yield f"answer {record.slot} (line {entry.seq + 1}): brought other outputs than are on record"
            elif isinstance(record, Sent):
                fault = self._fault(record, slots)
                if fault is not None:
                    yield f"request {record.slot} (line {entry.seq + 1}): {fault}"
        if self.evidence.finished and self.answered != len(slots):
            yield f"{self.answered} of {len(slots)} planned requests were answered, yet the run was closed"

    def _learn(self, answer: Answered, slots: list[str]) -> None:
        """Take note of what the provider sent."""
        call = self.plan.calls.get(answer.slot)
        if (
            call is None
            or answer.status != 200
            or self.answered >= len(slots)
            or slots[self.answered] != call.slot
        ):
            return
        try:
            made = self.dialect.decode(call, self.bodies.get(answer.body))
        except ProviderReplyError:
            return
        named = [Candidate.received(call, index, None, data, "") for index, data in enumerate(made)]
        self.received.update((each.id, each) for each in named)
        self.outputs[call.slot] = tuple(each.digest for each in named)
        self.answered += 1

    def _fault(self, sent: Sent, slots: list[str]) -> str | None:
        if sent.slot == HELLO:
            return self._compare(sent, self.dialect.hello())
        call = self.plan.calls.get(sent.slot)
        if call is None:
            return "not in the public plan"
        if self.answered >= len(slots) or slots[self.answered] != sent.slot:
            return "out of order, or asked again after it was answered"
        try:
            return self._compare(sent, self._expected(call))
        except ClientError as error:
            return str(error)

    def _expected(self, call: Call) -> WireRequest:
        prompt = PublicPrompt.of(self.plan, call.label)
        image = None if call.purpose == "create" else self.bodies.file(self._source(call).digest)
        return self.dialect.encode(self.plan, call, prompt, image)

    def _source(self, call: Call) -> Chosen:
        """The image that a call has to carry."""
        named = self._echoed(call.source) if call.source is not None else self._released(call)
        known = self.received.get(named.id)
        if known is None or known.digest != named.digest:
            raise ProviderReplyError("its receipt names an image that the provider had not sent")
        if known.label != call.label:
            raise ProviderReplyError("its receipt names an image of another class")
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
        return chosen[call.parent]

    def _compare(self, sent: Sent, expected: WireRequest) -> str | None:
        """What differs between the record and the prediction."""
        outgoing = Address(self.plan.api).outgoing(expected)
        if (sent.method, sent.url) != (outgoing.method, outgoing.url):
            return f"went to {sent.method} {urlsplit(sent.url).path}, not where the plan says"
        if self.bodies.get(sent.body) != outgoing.body:
            return "its body differs from what the plan and the receipt give"
        if _without_key(sent.headers) != outgoing.headers:
            return "carried headers that the plan does not give"
        if sent.wire_bytes - outgoing.wire_bytes not in _key_bytes(sent.headers):
            return "its recorded length is wrong"
        return None


def _without_key(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    return tuple(each for each in headers if each != ("Authorization", HIDDEN))


def _key_bytes(headers: tuple[Header, ...]) -> range:
    """By how much a request may be longer than predicted: the key, whose value is not on record."""
    return (
        range(len("Authorization: Bearer \r\n"), 5000)
        if len(_without_key(headers)) < len(headers)
        else range(1)
    )
