"""Send one request at a time to the API, recorded before it is sent; its outcome is recorded before use.

Only requests from the gate are sent. Retries resend the recorded bytes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, RLock
from typing import Final

from pcevolve.errors import (
    ClientError,
    EgressError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    printable,
)
from pcevolve.public.answers import is_success
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import GREETING_SLOT, Answered, Failed, Sent, part_of
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.allowance import Meter
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.retry import Busy, RetryPolicy, require_final
from pcevolve.wire.egress.transport import ADVICE, ConnectionTroubleError, Incoming, Outgoing, Transport
from pcevolve.wire.providers.dialect import Dialect
from pcevolve.wire.providers.faults import Reason

REDIRECTS: Final = range(300, 400)
UNKNOWN_PATH: Final = (404, 405)
_LONGEST_PLACE: Final = 200
HINTS: Final[dict[Reason | None, str]] = {
    "key": ": check the API key (--api-key-file or PCEVOLVE_API_KEY)",
    "credit": ": no credit is left; after a top-up, continue with --resume RUN",
    "content": ": its moderation does not allow this prompt or image",
    "field": ": leave that field out, or rename it, in a new run, for example with --set "
    "provider.fields=seed=",
    "size": ": request images of a size that the API accepts, in a new run, for example with --set "
    "provider.size=1024",
    "numbers": ": its model overflowed in this precision (NaN); try pcevolve-server serve --precision float32",
}


@dataclass(repr=False)
class RecordedSender:
    """Requests and answers of one run.

    Attributes:
        stopping: Set when a request failed for good, so that no other request is retried.
        closed: Set when the last request was answered; nothing is sent from then on.
    """

    transcript: Transcript
    dialect: Dialect
    address: Address
    transport: Transport
    pace: Pace
    meter: Meter
    stopping: Event = field(default_factory=Event)
    recording: RLock = field(default_factory=RLock)
    closed: bool = False

    def close(self) -> None:
        """Close all connections and send nothing more."""
        if not self.closed:
            self.transport.close()
            self.closed = True

    def obtain(
        self, slot: str, outgoing: Outgoing, patience: RetryPolicy, announced: bool = False
    ) -> Incoming:
        """Send a request, with retries.

        ``announced`` tells whether the first attempt is already on record.

        Raises:
            EgressError: The last request of the plan was answered, or another request failed meanwhile.
            ProviderError: There was no usable answer.
        """
        # The gate announces the first attempt in the plan's order; the waiting thread announces retries here.
        due = not announced

        def attempt() -> Incoming:
            nonlocal due
            if due:
                self.announce(slot, outgoing)
            due = True
            return self._outcome(slot, outgoing)

        # The address without headers, because the key is a header, and this text becomes part of messages.
        return patience.until_answered(attempt, f"{outgoing.method} {outgoing.url}")

    def announce(self, slot: str, outgoing: Outgoing) -> None:
        """Record an attempt before it is sent.

        Raises:
            EgressError: Nothing more is sent.
            AllowanceError: The attempt would exceed the owner's limits.
        """
        # A request after the last answer would show how long the work in between took, which depends on
        # private data.
        if self.closed:
            raise EgressError("the last request of the plan was answered; nothing more is sent")
        if self.stopping.is_set():
            raise EgressError("another request has failed; nothing more is sent")
        # Check and record under one lock; otherwise two threads could both pass a limit with room for one.
        with self.recording:
            self.meter.require(slot)
            self.put_on_record(slot, outgoing)

    def put_on_record(self, slot: str, outgoing: Outgoing) -> None:
        """Record a request without checking limits; no limit applies to requests that end jobs."""
        self._keep(
            Sent(
                slot=slot,
                method=outgoing.method,
                url=outgoing.url,
                headers=outgoing.recorded_headers(),
                body=self.transcript.bodies.put(outgoing.body),
                wire_bytes=outgoing.wire_bytes,
            )
        )

    def try_once(self, slot: str, outgoing: Outgoing) -> None:
        """Send an announced request once; its outcome is recorded and has no other effect."""
        with suppress(Busy, ClientError):
            self._outcome(slot, outgoing)

    def _outcome(self, slot: str, outgoing: Outgoing) -> Incoming:
        """Send an announced request; its outcome is recorded before it is used."""
        try:
            answer = self._send(outgoing)
        except ProviderReplyError:
            self._keep(Failed(slot=slot, reason="the answer is too large"))
            raise
        except ConnectionTroubleError as error:
            self._keep(Failed(slot=slot, reason=error.reason))
            # A fault of the configuration, such as a certificate, which no retry fixes.
            if advice := ADVICE.get(error.reason):
                raise ProviderUnreachableError(f"{outgoing.url}: {error.reason}: {advice}") from error
            # A broken connection says nothing about the request, so the request is sent again.
            raise Busy(error.reason, None) from error
        # Before anything is stored: an answer that repeats the key would put the key on disk and into
        # auditors' copies.
        revealed = self.address.is_revealed_by(answer)
        with self.recording:
            record = self._on_record(slot, answer, revealed)
            self._keep(record)
        return self._accept(outgoing, answer, record)

    def _keep(self, record: Sent | Answered | Failed) -> None:
        with self.recording:
            self.transcript.append(record)
            self.meter.note(record)

    def _on_record(self, slot: str, answer: Incoming, revealed: bool) -> Answered | Failed:
        """Return the record of an answer; an answer that repeats the key is recorded as a failure."""
        if revealed:
            # Only the reason is recorded; the answer's bytes are not stored anywhere.
            return Failed(slot=slot, reason="the answer repeats the API key")
        return Answered(
            slot=slot,
            status=answer.status,
            headers=answer.headers,
            body=self.transcript.bodies.put(answer.body),
            wire_bytes=answer.wire_bytes,
        )

    def _accept(self, outgoing: Outgoing, answer: Incoming, record: Answered | Failed) -> Incoming:
        """Return an answer that the record counts as a success; the audit applies the same rule.

        Raises:
            Busy: A retry may succeed.
            ProviderReplyError: The answer cannot be kept.
            ProviderRefusedError: A retry would not help.
        """
        kept = isinstance(record, Answered)
        if is_success(answer.status) and not kept:
            raise ProviderReplyError("the API's answer repeats the API key, so the answer was not stored")
        # By the record's own rule: if run and audit judged differently, an honest run would look forged.
        if isinstance(record, Answered) and record.succeeded:
            return answer
        # A body that repeats the key is left out, because its text may become part of a message.
        fault = self.dialect.fault(answer.status, answer.body if kept else b"")
        reason = require_final(answer.status, fault, answer.header("Retry-After"))
        hint = _redirect(answer) or HINTS.get(fault.reason, "")
        if part_of(record.slot) == "link":
            hint = (
                ": links are fetched without the key and without redirects, and this link may have "
                "expired: --resume RUN requests the image again"
            )
        # Only for the greeting: a later 404 is about a model or an image, not about the address.
        elif record.slot == GREETING_SLOT and answer.status in UNKNOWN_PATH:
            hint = f": {self.dialect.unknown}"
        raise ProviderRefusedError(f"the API refused {outgoing.method} {outgoing.url}: {reason}{hint}")

    def _send(self, outgoing: Outgoing) -> Incoming:
        try:
            return self.transport.send(outgoing)
        finally:
            # After a failure too, because the pause before the next request counts from the last contact.
            self.pace.note_answer()


def _redirect(answer: Incoming) -> str:
    """Return the target of a redirecting answer, for a message; redirects are not followed."""
    place = answer.header("Location")
    # Not followed, because the key would go to another host, and the record would name the wrong one.
    if answer.status not in REDIRECTS or not place:
        return ""
    return (
        f": it redirects to {printable(place)[:_LONGEST_PLACE]}, which is not followed: give the right --api"
    )
