"""A recorded call in flight: its outcomes so far, and the outputs that they may have brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pcevolve.errors import OtherModelError, ProviderError, ProviderReplyError, UnlistedHostError
from pcevolve.public.calls import Call
from pcevolve.public.transcript.records import Answered, link_slot
from pcevolve.wire.egress.answers import require_max_size
from pcevolve.wire.egress.losses import Brought, Outcome
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Output

Link: TypeAlias = tuple[str, str]
Links: TypeAlias = tuple[Link | ProviderError, ...]


@dataclass
class UnderWay:
    """A call that was tried and whose outputs are not on record yet.

    Attributes:
        expected: The request, with a stand-in for the key.
        parent: Id of its source, if it varies anything.
        waiting: Slot of the attempt without an outcome; None if there is none. ``asked`` is its address.
        outcomes: Outcomes of the attempts at each slot, its own and those of its links.
        since: Number of its own outcomes before all missing calls were sent again.
        answers: Its successes, each with slot and address of every linked image, or the reason why the link
            cannot be followed; None for one that ends the run.
        found: The image behind each link, or that it is lost.
        held: Whether later calls went on without it.
        unsent: Whether its source had not come, so that nothing is sent for it.
    """

    policy: Policy
    call: Call
    expected: Outgoing
    parent: str | None
    waiting: str | None = None
    asked: str = ""
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    since: int = 0
    answers: list[tuple[bytes, Links | None]] = field(default_factory=list)
    found: dict[Link, Output] = field(default_factory=dict)
    held: bool = False
    unsent: bool = False

    @property
    def due(self) -> str:
        """The next step that is due, in words."""
        if self.waiting is not None:
            return f"what came of request {self.waiting}"
        if self.unsent:
            return f"what {self.call.slot} brought"
        if self.fetching:
            return f"an image that the answer to {self.call.slot} points to"
        came = any(links is not None for _, links in self.answers[-1:])
        return f"what {self.call.slot} brought" if came else f"request {self.call.slot}"

    @property
    def own(self) -> list[Outcome]:
        """Outcomes of the attempts at the call itself."""
        return self.outcomes.setdefault(self.call.slot, [])

    @property
    def fetching(self) -> bool:
        """True if images behind the last answer's links are due; the call itself is not repeated meanwhile."""
        links = [each for _, at in self.answers[-1:] for each in _followed(at)]
        left = any(each not in self.found for each in links)
        return left and all(isinstance(self.found.get(each, b""), bytes) for each in links)

    def points_to(self, slot: str, url: str) -> bool:
        """True if an answer contains this link, and its earlier links were fetched: their order is the answer's."""
        for _, at in self.answers:
            links = _followed(at)
            untried = [each for each in links if each not in self.found]
            dead = [each for each in links if isinstance(self.found.get(each), ProviderError)]
            if (slot, url) in (*untried[:1], *dead):
                return True
        return False

    def is_lost(self) -> bool:
        """True if the last answer to a call brought nothing and is final for it."""
        loss = self.policy.find_loss(self.own) if len(self.own) > self.since else None
        if loss is None or not self.policy.is_borne(loss):
            return False
        last = self.own[-1]
        if not (isinstance(last, Answered) and last.succeeded):
            return True
        brought = self.brought(*self.answers[-1])
        return brought is not None and brought.is_lost

    def brought(self, body: bytes, links: Links | None) -> Brought | None:
        """Return an answer's outputs; None if they are not known yet, or end the run."""
        linked = [each if isinstance(each, ProviderError) else self.found.get(each) for each in links or ()]
        if links is None or any(each is None for each in linked):
            return None
        try:
            return Brought(
                *self.policy.read_outputs(self.call, body, [each for each in linked if each is not None])
            )
        except ProviderReplyError as error:
            return Brought([b""] * self.call.count, error)

    def list_brought(self) -> list[list[bytes]]:
        """Return all outputs that a call may have brought: those of a whole answer, else of partial ones."""
        if self.unsent:
            return [[b""] * self.call.count]
        found = [each for each in (self.brought(*answer) for answer in self.answers) if each]
        whole = [each.outputs for each in found if each.error is None]
        if whole:
            return whole
        loss = self.policy.find_loss(self.own)
        parts = [each.outputs for each in found if any(each.outputs)]
        if not (parts and loss is not None and self.policy.is_borne(loss)):
            parts = []
        return [*parts, *([[b""] * self.call.count] if self.is_lost() else [])]

    def read(self, answer: Answered, body: bytes) -> None:
        """Register what the API sent."""
        if answer.slot != self.call.slot:
            try:
                self.found[answer.slot, self.asked] = require_max_size(body)
            except ProviderReplyError as error:
                self.found[answer.slot, self.asked] = error
            return
        links: Links | None = ()
        try:
            pointed = enumerate(self.policy.read_links(self.call, body))
            links = tuple(self._follow(link_slot(self.call.slot, place), link) for place, link in pointed)
        except (OtherModelError, UnlistedHostError):
            links = None
        except ProviderReplyError:
            pass  # what it brought is read with that
        self.answers.append((body, links))

    def _follow(self, slot: str, link: str) -> Link | ProviderError:
        try:
            self.policy.link_request(link)
        except UnlistedHostError:
            raise
        except ProviderReplyError as error:
            return error
        return slot, link


def _followed(links: Links | None) -> list[Link]:
    return [each for each in links or () if isinstance(each, tuple)]
