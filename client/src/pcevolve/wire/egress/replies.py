"""Outputs of the plan's calls: read from an answer or the record, fetched from links, stored and named.

If an API answers with jobs, an answer begins a chain of answers (``Dialect.follow_up``), and the last one
is read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

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
from pcevolve.public.transcript.log import AnswerChain, Transcript
from pcevolve.public.transcript.records import Received, cancel_slot, job_slot, link_slot
from pcevolve.wire.egress.answers import require_max_size
from pcevolve.wire.egress.exchange import RecordedSender
from pcevolve.wire.egress.losses import Brought
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Output, WireRequest

LONGEST_POLL_PAUSE: Final = 10.0
"""Longest pause in seconds between two requests for a job's state.

The first pause is one second, and each is twice the one before.
"""


@dataclass
class Replies:
    """Outputs of the calls of one run; the exchange fetches images behind links."""

    transcript: Transcript
    policy: Policy
    exchange: RecordedSender
    pace: Pace
    patience: RetryPolicy

    def replay(self, call: Call) -> Brought | None:
        """Return the outputs in recorded answers; None if the call has to be sent, or sent again.

        Raises:
            TranscriptError: The record has the call's outputs but no usable answer. The call is not sent
                again, because it was answered.
        """
        recorded = self.transcript.outputs(call.slot)
        chains = self.transcript.answers(call.slot)
        # The job of an interrupted run continues at the provider and is paid for, so its result is requested
        # first.
        if recorded is None and chains and not chains[-1].cancelled:
            self._carry_on(call, chains[-1])
        # The newest first: older answers were incomplete and therefore repeated, and their dead links are not
        # followed.
        for chain in reversed(chains):
            try:
                brought = self._read_chain(call, chain, recorded is not None)
            # An older answer may contain what the newest has lost.
            except (ProviderRefusedError, ProviderUnreachableError, LinkDiedError):
                continue
            if brought is None:
                continue
            if recorded is not None:
                if recorded == digests_of(brought.outputs):
                    return Brought(brought.outputs)
            # Some outputs are kept if the run can continue without the others; otherwise the call is sent
            # again.
            elif brought.loss is None or (any(brought.outputs) and self.policy.is_borne(brought.loss)):
                return brought
        if recorded is None:
            return None
        # Outputs without a readable answer mean a damaged or edited record, and a new request would be paid
        # twice.
        nothing = [b""] * call.count
        if recorded == digests_of(nothing) and self.policy.find_loss(self.transcript.outcomes(call.slot)):
            return Brought(nothing)
        raise TranscriptError(f"the answer {call.slot}, whose outputs are on record, is missing")

    def finish(self, call: Call) -> Brought:
        """Read the result of the newest answer to a call; if the answer began a job, wait for the job's end.

        Raises:
            ProviderRefusedError, ProviderUnreachableError: The job's state has to be requested later.
        """
        chain = self.transcript.answers(call.slot)[-1]
        error = self._carry_on(call, chain)
        if error is not None:
            return self._lose(call, error)
        # Only the last answer of a job contains its result; earlier ones report that the job is running.
        return self.read(call, self._bodies(chain)[-1])

    def cancel_all(self) -> None:
        """Ask the API to end every job without a recorded result."""
        for slot, call in self.policy.calls.items():
            if self.transcript.outputs(slot) is None and self.transcript.answers(slot):
                self._cancel(call)

    def _cancel(self, call: Call) -> None:
        # One lock for checking and recording, so that only one of two threads cancels a job.
        with self.exchange.recording:
            chain = self.transcript.answers(call.slot)[-1]
            ending = [] if chain.cancelled else self.policy.cancel_requests(self._bodies(chain))
            # The first request is recorded under the lock, which marks the job as cancelled for every other
            # thread.
            for each in ending[:1]:
                self.exchange.put_on_record(cancel_slot(call.slot, 0), each)
        for place, each in enumerate(ending):
            if place:
                self.exchange.put_on_record(cancel_slot(call.slot, place), each)
            self.exchange.try_once(cancel_slot(call.slot, place), each)

    def _carry_on(self, call: Call, chain: AnswerChain) -> ProviderReplyError | None:
        """Request a job's state until the job is over; if it fails or is given up, cancel it and return the error."""
        try:
            while (due := self.policy.follow_up(call, self._bodies(chain))) is not None:
                # Numbered by the answers on record, so that a resumed run continues where it stopped.
                slot = job_slot(call.slot, len(chain.answers) - 1)
                self.patience.sleep(min(2.0 ** (len(chain.answers) - 1), LONGEST_POLL_PAUSE))
                self.pace.wait_before_request()
                self._take_step(slot, due)
        except ProviderReplyError as error:
            self._cancel(call)
            return error
        return None

    def _take_step(self, slot: str, due: Outgoing) -> None:
        """Send the next request about a job; its answer is then in the recorded chain."""
        try:
            self.exchange.obtain(slot, due, self.patience)
        except ProviderError as error:
            # The API may only be unreachable for now; then the resumed run requests the job's state again.
            if not self.policy.is_gone(self.transcript.outcomes(slot)):
                raise
            raise ProviderReplyError(f"the outcome of a job is unknown: {error}") from error

    def _bodies(self, chain: AnswerChain) -> list[bytes]:
        return [self.transcript.bodies.get(each.body) for each in chain.answers]

    def _read_chain(self, call: Call, chain: AnswerChain, settled: bool) -> Brought | None:
        """Read the result of recorded answers; None for a job that was not over."""
        bodies = self._bodies(chain)
        try:
            if chain.cancelled or self.policy.follow_up(call, bodies) is not None:
                return None
        except ProviderReplyError as error:
            return self._lose(call, error)
        return self.read(call, bodies[-1], settled)

    def _lose(self, call: Call, error: ProviderReplyError) -> Brought:
        loss = self.policy.find_loss(self.transcript.outcomes(call.slot))
        return Brought([b""] * call.count, error, loss)

    def read(self, call: Call, body: bytes, settled: bool = True) -> Brought:
        """Read the images of an answer, from its body and its links, if the requested model made them.

        Args:
            settled: Whether a dead link makes its image missing. If not, the call is sent again, because
                links in an earlier answer may have expired.

        Raises:
            OtherModelError, UnlistedHostError: All requests would be answered in this way.
        """
        try:
            links = self.policy.read_links(call, body)
            fetched = [self._follow(call, place, link, settled) for place, link in enumerate(links)]
            outputs, error = self.policy.read_outputs(call, body, fetched)
        # These concern every request alike, so they are not the loss of a single image.
        except (OtherModelError, UnlistedHostError, LinkDiedError):
            raise
        except ProviderReplyError as broken:
            outputs, error = [b""] * call.count, broken
        loss = None if error is None else self.policy.find_loss(self.transcript.outcomes(call.slot))
        return Brought(outputs, error, loss)

    def store(self, call: Call, made: list[bytes], parent: str | None) -> tuple[Candidate, ...]:
        """Store and record a call's outputs, and name them."""
        # One lock for lookup and append: two threads that store the same call must not both find it new.
        with self.exchange.recording:
            digests = tuple(self.transcript.bodies.keep(data) for data in made)
            known = self.transcript.outputs(call.slot)
            if known not in (None, digests):
                raise TranscriptError(f"the recorded answer {call.slot} now decodes to different outputs")
            if known is None:
                self.transcript.append(Received(slot=call.slot, outputs=digests))
        return tuple(Candidate.received(call, index, parent, data) for index, data in enumerate(made))

    def _follow(self, call: Call, place: int, link: str | WireRequest, settled: bool) -> Output:
        """Fetch the target of a link; if that fails, return the reason."""
        try:
            return self._fetch(call, place, self.policy.link_request(link))
        except UnlistedHostError:
            raise
        except ProviderError as error:
            slot = link_slot(call.slot, place)
            known = self.transcript.outputs(call.slot) is not None
            if not known and not self.policy.is_dead(self.transcript.outcomes(slot)):
                raise
            # The call can be sent again, which gives fresh links.
            if not settled:
                raise LinkDiedError(str(error)) from error
            return error

    def _fetch(self, call: Call, place: int, link: Outgoing) -> bytes:
        """Fetch the image behind a link, or read it from the record (``ProviderReplyError`` for an unusable image)."""
        slot = link_slot(call.slot, place)
        # By address, because a repeated answer has other links in the same slot.
        known = self.transcript.answer_from(slot, link.url)
        if known is not None:
            return require_max_size(self.transcript.bodies.get(known.body))
        # The plan determines the number of requests, so a link that was dead before must not be followed
        # again.
        if self.transcript.outputs(call.slot) is not None:
            raise ProviderReplyError("this call was already answered, without the content of this link")
        self.pace.wait_before_request()
        return require_max_size(self.exchange.obtain(slot, link, self.patience).body)


class LinkDiedError(ProviderReplyError):
    """The target of a link in a recorded answer is gone."""


def digests_of(outputs: list[bytes]) -> tuple[str, ...]:
    return tuple(hashlib.sha256(each).hexdigest() for each in outputs)
