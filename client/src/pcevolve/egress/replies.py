"""Answers to calls of the plan: read out of an answer or out of the record, fetched behind links, stored and named."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from pcevolve.egress.answers import require_max_size
from pcevolve.egress.exchange import Exchange
from pcevolve.egress.pace import Pace
from pcevolve.egress.policy import Policy
from pcevolve.egress.retry import RetryPolicy
from pcevolve.egress.transport import Outgoing
from pcevolve.errors import ProviderRefusedError, ProviderReplyError, TranscriptError, UnlistedHostError
from pcevolve.public.calls import Call
from pcevolve.public.fields import FEWEST
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import Answered, Received, link_slot


@dataclass
class Replies:
    """Answers to the calls of one run; what a link leads to is fetched over the exchange with the API."""

    transcript: Transcript
    policy: Policy
    exchange: Exchange
    pace: Pace
    patience: RetryPolicy

    def replay(self, call: Call) -> list[bytes] | None:
        """Return what a recorded answer brought; an unusable one does not count and is asked for again.

        Raises:
            TranscriptError: A usable one was on record, for its outputs are, and there is none now: it is not asked
                for again, for the call was answered.
        """
        # The newest first: an older one was asked again for what it lacks, and a dead link of it is not followed anew.
        for answer in reversed(self.transcript.answers(call.slot)):
            try:
                return self.read(call, self.transcript.bodies.get(answer.body))
            except UnlistedHostError:  # another answer would point there too
                raise
            except (ProviderReplyError, ProviderRefusedError):  # links die after a while
                continue
        # Outputs without a readable answer: a damaged or edited record, and asking again would pay twice.
        if self.transcript.outputs(call.slot) is not None:
            if (spared := self.spare(call)) is not None:
                return spared
            raise TranscriptError(f"the answer {call.slot} whose outputs are on record is there no more")
        return None

    def read(self, call: Call, body: bytes) -> list[bytes]:
        """Return the images of an answer, wherever they are, if the model that was asked for made them."""
        links = [self.policy.link_request(link) for link in self.policy.read_links(call, body)]
        fetched = [self._fetch(call, place, link) for place, link in enumerate(links)]
        return self.policy.read_outputs(call, body, fetched)

    def spare(self, call: Call) -> list[bytes] | None:
        """Return what a call brought whose last attempt failed, where that ends no run; see ``Policy.spare``."""
        outcome = self.transcript.outcome(call.slot)
        if outcome is None:
            return None
        body = self.transcript.bodies.get(outcome.body) if isinstance(outcome, Answered) else b""
        return self.policy.spare(call, outcome, body)

    def store(self, call: Call, made: list[bytes], parent: str | None) -> tuple[Candidate, ...]:
        """Store what came back, on record, and give it its names."""
        # One lock for look and append: two threads that store the same call must not both find it new.
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

    def _fetch(self, call: Call, place: int, link: Outgoing) -> bytes:
        """Fetch the image behind a link, from the record if it was fetched before. Raises ``ProviderReplyError``."""
        slot = link_slot(call.slot, place)
        known = self.transcript.answer_from(slot, link.url)
        if known is not None:
            return require_max_size(self.transcript.bodies.get(known.body))
        # The number of requests is the plan's: a link that was dead then would be one more now.
        if self.transcript.outputs(call.slot) is not None:
            raise ProviderReplyError("the call was answered without what lies behind this link")
        self.pace.wait_before_request(opens_round=False)
        return require_max_size(self.exchange.obtain(slot, link, self.patience).body)


MOST_IN_A_ROW = 8
"""Requests one after another that the API's moderation refuses; more mean the account, and not single images."""
_Group: TypeAlias = tuple[str, int, str]
"""A class, a round and a purpose: the calls from whose images a release chooses, or that are the dataset's."""


class Refusals:
    """How much the API's moderation withheld so far, and whether enough is left to go on.

    Attributes:
        in_a_row: Requests refused one after another.
    """

    def __init__(self, plan: PublicPlan) -> None:
        """Start with nothing withheld of a plan's calls."""
        self.in_a_row = 0
        self._lock = Lock()
        self._left = Counter[_Group]()
        for call in plan.calls.values():
            self._left[_group(call)] += call.count
        for (label, iteration, purpose), count in self._left.items():
            # Of a round from which nothing is chosen any more, one image is worth having.
            fewest = FEWEST if iteration + 1 in plan.releases else 1
            self._left[label, iteration, purpose] -= plan.count_needed(count, fewest)

    def note(self, call: Call, made: list[bytes]) -> None:
        """Count the images of an answer that it withheld."""
        with self._lock:
            self._left[_group(call)] -= made.count(b"")

    def require_bearable(self, call: Call, error: Exception) -> None:
        """Count the images of a call that is refused now.

        Raises:
            ProviderRefusedError: Nothing else comes any more, or too little would be left of a class. Then the call
                stays without an answer, so that a run resumed asks again: what is on record as withheld is lost.
        """
        with self._lock:
            self.in_a_row += 1
            if self.in_a_row < MOST_IN_A_ROW and call.count <= self._left[_group(call)]:
                self._left[_group(call)] -= call.count
                return
        why = f"without it too little is left of class {call.label!r}"
        if self.in_a_row >= MOST_IN_A_ROW:
            why = f"so it answered {self.in_a_row} requests one after another"
        raise ProviderRefusedError(f"{error}; {why}: once it draws again, --resume RUN goes on") from error


def _group(call: Call) -> _Group:
    return call.label, call.iteration, call.purpose
