"""Outputs of the plan's calls: read from an answer or the record, fetched behind links, stored and named."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pcevolve.errors import (
    OtherModelError,
    ProviderError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TranscriptError,
    UnlistedHostError,
)
from pcevolve.public.calls import Call
from pcevolve.public.release import Candidate
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Received, link_slot
from pcevolve.wire.egress.answers import require_max_size
from pcevolve.wire.egress.exchange import RecordedSender
from pcevolve.wire.egress.losses import Brought
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Output


@dataclass
class Replies:
    """Outputs of the calls of one run; images behind links are fetched by the exchange."""

    transcript: Transcript
    policy: Policy
    exchange: RecordedSender
    pace: Pace
    patience: RetryPolicy

    def replay(self, call: Call) -> Brought | None:
        """Return the outputs in recorded answers; None if the call has to be sent, or sent again.

        Raises:
            TranscriptError: The record has the call's outputs but no usable answer; it is not sent again,
                because the call was answered.
        """
        recorded = self.transcript.outputs(call.slot)
        # The newest first: an older answer lacked something and was repeated, and its dead links are not
        # followed again.
        for answer in reversed(self.transcript.answers(call.slot)):
            try:
                brought = self.read(call, self.transcript.bodies.get(answer.body), recorded is not None)
            except (ProviderRefusedError, ProviderUnreachableError, LinkDiedError):
                continue
            if recorded is not None:
                if recorded == digests_of(brought.outputs):
                    return Brought(brought.outputs)
            elif brought.loss is None or (any(brought.outputs) and self.policy.is_borne(brought.loss)):
                return brought
        if recorded is None:
            return None
        # Outputs without a readable answer mean a damaged or edited record, and asking again would pay twice.
        nothing = [b""] * call.count
        if recorded == digests_of(nothing) and self.policy.find_loss(self.transcript.outcomes(call.slot)):
            return Brought(nothing)
        raise TranscriptError(f"the answer {call.slot} whose outputs are on record is there no more")

    def read(self, call: Call, body: bytes, settled: bool = True) -> Brought:
        """Read the images of an answer, wherever they are, if the requested model made them.

        Args:
            settled: Whether a dead link makes its image missing. Links expire, so an image of an earlier
                answer is requested again.

        Raises:
            OtherModelError, UnlistedHostError: All requests would be answered so.
        """
        try:
            links = self.policy.read_links(call, body)
            fetched = [self._follow(call, place, link, settled) for place, link in enumerate(links)]
            outputs, error = self.policy.read_outputs(call, body, fetched)
        except (OtherModelError, UnlistedHostError, LinkDiedError):
            raise
        except ProviderReplyError as broken:
            outputs, error = [b""] * call.count, broken
        loss = None if error is None else self.policy.find_loss(self.transcript.outcomes(call.slot))
        return Brought(outputs, error, loss)

    def store(self, call: Call, made: list[bytes], parent: str | None) -> tuple[Candidate, ...]:
        """Store a call's outputs, on record, and name them."""
        # One lock for lookup and append: two threads that store the same call must not both find it new.
        with self.exchange.recording:
            digests = tuple(self.transcript.bodies.keep(data) for data in made)
            known = self.transcript.outputs(call.slot)
            if known not in (None, digests):
                raise TranscriptError(
                    f"the answer {call.slot} on record brought other outputs than it does now"
                )
            if known is None:
                self.transcript.append(Received(slot=call.slot, outputs=digests))
        return tuple(Candidate.received(call, index, parent, data) for index, data in enumerate(made))

    def _follow(self, call: Call, place: int, link: str, settled: bool) -> Output:
        """Fetch the target of a link; the reason in its place if that fails."""
        try:
            return self._fetch(call, place, self.policy.link_request(link))
        except UnlistedHostError:
            raise
        except ProviderError as error:
            slot = link_slot(call.slot, place)
            known = self.transcript.outputs(call.slot) is not None
            if not known and not self.policy.is_dead(self.transcript.outcomes(slot)):
                raise
            if not settled:
                raise LinkDiedError(str(error)) from error
            return error

    def _fetch(self, call: Call, place: int, link: Outgoing) -> bytes:
        """Fetch the image behind a link, or read it from the record (``ProviderReplyError``)."""
        slot = link_slot(call.slot, place)
        known = self.transcript.answer_from(slot, link.url)
        if known is not None:
            return require_max_size(self.transcript.bodies.get(known.body))
        # The number of requests is the plan's: following a link that was dead before would be an extra
        # request.
        if self.transcript.outputs(call.slot) is not None:
            raise ProviderReplyError("the call was answered without what lies behind this link")
        self.pace.wait_before_request()
        return require_max_size(self.exchange.obtain(slot, link, self.patience).body)


class LinkDiedError(ProviderReplyError):
    """The target of a link in a recorded answer is gone."""


def digests_of(outputs: list[bytes]) -> tuple[str, ...]:
    """Return the SHA-256 of each output."""
    return tuple(hashlib.sha256(each).hexdigest() for each in outputs)
