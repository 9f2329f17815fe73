"""The gate: default-deny. A request leaves only if the public plan and a paid release say exactly these bytes.

The gate rebuilds each request from the plan on record and from the committed receipt, compares, records, and only
then lets it go. Retries resend the recorded bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import pydantic

from pcevolve_shared import images, wire

from ..errors import EgressError, ProviderRefusedError, ProviderReplyError
from ..plan import Call, PublicPlan, Purpose
from ..providers.dialect import Dialect, WireRequest
from ..release import Candidate, Prototype, PublicEcho, PublicPrompt, Receipt
from .records import HELLO, Answered, Failed, Finished, Opened, Planned, Received, Released, Sent
from .retry import Busy, Patience
from .transcript import Transcript
from .transport import Address, ConnectionTroubleError, Incoming, Outgoing, Transport

RETRYABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_CARRIES: Final[dict[Purpose, str]] = {
    "create": "no image",
    "vary": "a released prototype",
    "look": "the candidate that the plan names, and nothing else",
    "extend": "the candidate that the plan names, and nothing else",
}


class Gate:
    """The one module that lets bytes out."""

    def __init__(
        self,
        transcript: Transcript,
        dialect: Dialect,
        address: Address,
        transport: Transport,
        patience: Patience,
    ) -> None:
        self._transcript = transcript
        self._dialect = dialect
        self._address = address
        self._transport = transport
        self._patience = patience
        self._plan: PublicPlan | None = None
        self._committed: Callable[[Receipt], bool] = lambda _: False
        self._order: dict[str, int] = {}
        self._next = 0
        self._known: dict[str, Candidate] = {}

    def hello(self, run_id: str) -> bytes:
        """Ask who is there; the same request for everybody. Answers from the record when there is one."""
        if not self._transcript.entries:
            opened = Opened(run_id=run_id, api=self._address.base_url, dialect=self._dialect.name)
            self._transcript.append(opened)
        for known in self._transcript.answers(HELLO):
            return self._transcript.bodies.get(known.body)
        return self._post(HELLO, self._address.outgoing(self._dialect.hello()), self._patience.briefly()).body

    def begin(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Fix the plan; a resumed run must have the one on record.

        Args:
            plan: Says what will be sent.
            committed: Asks the ledger whether it has committed exactly this receipt.

        Raises:
            EgressError: Another plan is on record.
        """
        known = self._transcript.plan()
        if known is None:
            self._transcript.append(Planned(plan=plan))
        elif known != plan:
            raise EgressError("this run is on record with another plan: start a new one with another --out")
        self._plan, self._committed = plan, committed
        self._order = {slot: place for place, slot in enumerate(plan.calls)}

    def exchange(
        self, request: WireRequest, call: Call, source: Prototype | PublicEcho | None
    ) -> tuple[Candidate, ...]:
        """Let one call of the plan out and name what comes back.

        A call that was answered before is answered from the record; nothing is sent.

        Raises:
            EgressError: These are not the bytes that plan and release give; nothing was sent.
            ProviderError: No usable answer.
        """
        self._check(request, call, source)
        made = self._replayed(call)
        if made is None:
            answer = self._post(call.slot, self._address.outgoing(request), self._patience)
            made = self._dialect.decode(call, answer.body)
        named = self._named(call, made, None if source is None else source.candidate.id)
        self._known.update((each.id, each) for each in named)
        self._next = max(self._next, self._order[call.slot] + 1)
        return named

    def record(self, receipt: Receipt) -> None:
        """Put a committed receipt on record.

        Raises:
            EgressError: The ledger does not know it.
        """
        if not self._committed(receipt):
            raise EgressError(f"the ledger knows no receipt for iteration {receipt.iteration}")
        if not self._transcript.has(receipt):
            self._transcript.append(Released(receipt=receipt))

    def finish(self) -> None:
        """Close the record."""
        if not isinstance(self._transcript.entries[-1].record, Finished):
            self._transcript.prune()
            self._transcript.append(Finished(sent=len(self._transcript.sent())))

    def _check(self, request: WireRequest, call: Call, source: Prototype | PublicEcho | None) -> None:
        plan = self._plan
        if plan is None or plan.calls.get(call.slot) != call:
            raise EgressError(f"request {call.slot} is not in the public plan")
        if self._order[call.slot] > self._next:
            raise EgressError(f"request {call.slot} is out of order")
        image = self._image(plan, call, source)
        if self._dialect.encode(plan, call, PublicPrompt.of(plan, call.label), image) != request:
            raise EgressError(f"request {call.slot} differs from what the plan and the release give")

    def _image(self, plan: PublicPlan, call: Call, source: Prototype | PublicEcho | None) -> bytes | None:
        """The received bytes that a call may carry: they have a reason to leave, or the call carries none."""
        if call.purpose == "create" and source is None:
            return None
        if call.purpose == "vary" and isinstance(source, Prototype):
            self._allow(plan, call, source)
        elif call.source is None or not isinstance(source, PublicEcho) or source.candidate.id != call.source:
            raise EgressError(f"request {call.slot} must carry {_CARRIES[call.purpose]}")
        candidate = source.candidate
        if self._known.get(candidate.id) != candidate:
            raise EgressError(f"request {call.slot}: {candidate.id} is not what the API sent")
        return self._transcript.bodies.file(candidate.digest)

    def _allow(self, plan: PublicPlan, call: Call, prototype: Prototype) -> None:
        """Refuse a prototype that no committed receipt allows for this call."""
        candidate, receipt = prototype.candidate, prototype.receipt
        if not self._committed(receipt):
            raise EgressError(f"request {call.slot}: the ledger knows no receipt for {candidate.id}")
        if (receipt.run_id, receipt.iteration, candidate.label) != (plan.run_id, call.iteration, call.label):
            raise EgressError(f"request {call.slot}: the receipt is for another run, iteration or class")
        if receipt.of(call.label)[call.parent or 0].id != candidate.id:
            raise EgressError(f"request {call.slot}: the receipt names another candidate")
        self.record(receipt)

    def _replayed(self, call: Call) -> list[bytes] | None:
        """What an answer on record brought; an unusable one does not count and is asked for again."""
        for answer in self._transcript.answers(call.slot):
            try:
                return self._dialect.decode(call, self._transcript.bodies.get(answer.body))
            except ProviderReplyError:
                continue
        return None

    def _named(self, call: Call, made: list[bytes], parent: str | None) -> tuple[Candidate, ...]:
        """Store what came back, on record, and give it its names."""
        digests = tuple(self._transcript.bodies.keep(data) for data in made)
        if self._transcript.outputs(call.slot) != digests:
            self._transcript.append(Received(slot=call.slot, outputs=digests))
        return tuple(
            Candidate.received(call, index, parent, data, _media_type(data))
            for index, data in enumerate(made)
        )

    def _post(self, slot: str, outgoing: Outgoing, patience: Patience) -> Incoming:
        return patience.insist(lambda: self._once(slot, outgoing))

    def _once(self, slot: str, outgoing: Outgoing) -> Incoming:
        """One attempt, on record before it leaves and after it came back."""
        self._transcript.append(
            Sent(
                slot=slot,
                method=outgoing.method,
                url=outgoing.url,
                headers=outgoing.recorded_headers(),
                body=self._transcript.bodies.put(outgoing.body),
                wire_bytes=outgoing.wire_bytes,
            )
        )
        try:
            answer = self._transport.send(outgoing)
        except (ConnectionTroubleError, ProviderReplyError) as error:
            self._transcript.append(Failed(slot=slot, reason=str(error)))
            if isinstance(error, ProviderReplyError):
                raise
            raise Busy(str(error), None) from error
        self._transcript.append(
            Answered(
                slot=slot,
                status=answer.status,
                headers=answer.headers,
                body=self._transcript.bodies.put(answer.body),
                wire_bytes=answer.wire_bytes,
            )
        )
        return _accepted(answer)


def _accepted(answer: Incoming) -> Incoming:
    if answer.status == HTTPStatus.OK:
        return answer
    reason = f"HTTP {answer.status}{_said(answer)}"
    if answer.status in RETRYABLE:
        raise Busy(reason, answer.header("Retry-After"))
    hints = {401: ": check the API key (--api-key-file or PCEVOLVE_API_KEY)", 402: ": no credit left"}
    raise ProviderRefusedError(f"the API refused: {reason}{hints.get(answer.status, '')}")


def _said(answer: Incoming) -> str:
    """The API's own short message, if it has the contract's shape."""
    try:
        message = wire.ErrorResponse.model_validate_json(answer.body).error.message
    except pydantic.ValidationError:
        return ""
    printable = "".join(each if each.isprintable() else " " for each in message)
    return f" ({printable[:200]})"


def _media_type(data: bytes) -> str:
    try:
        return images.media_type(data)
    except images.ImageError:
        return "application/octet-stream"
