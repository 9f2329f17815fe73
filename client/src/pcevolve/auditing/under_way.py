"""A recorded call in flight: its outcomes so far, and the outputs that these may contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pcevolve.errors import OtherModelError, ProviderError, ProviderReplyError, UnlistedHostError
from pcevolve.public.calls import Call
from pcevolve.public.transcript.records import Answered, cancel_slot, job_slot, link_slot, part_of
from pcevolve.wire.egress.answers import require_max_size
from pcevolve.wire.egress.losses import Brought, Outcome
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Output, WireRequest

Link: TypeAlias = tuple[str, str]
Links: TypeAlias = tuple[Link | ProviderError, ...]


@dataclass
class CallAnswer:
    """A successful answer to a call, with the later answers about the job that it may have started.

    Attributes:
        links: Slot and address of every image that the last answer only links to, or the error if a link cannot be
            followed. None if the run must end, because the answer names another model or links to a host that the
            plan does not list.
        due: The request for the next step of the job; None once the job is over.
        error: Why the job has no result, or why the result of its next step is unknown.
        cancelled: Number of requests to cancel the job; later answers do not count.
    """

    bodies: list[bytes]
    links: Links | None = ()
    due: Outgoing | None = None
    error: ProviderReplyError | None = None
    cancelled: int = 0

    @property
    def is_open(self) -> bool:
        """True if a job is not over and may still have a result."""
        return self.due is not None and self.error is None and not self.cancelled


@dataclass
class UnderWay:
    """A call that was sent and whose outputs are not on record yet.

    Attributes:
        expected: The request, with a placeholder for the key.
        parent: Id of the candidate that it varies; None if it varies none.
        waiting: Slot of the attempt without an outcome; None if there is none. ``asked`` is its address.
        outcomes: Outcomes of the attempts at each slot of the call, its links and its job.
        since: Number of the call's own outcomes before all skipped calls were sent again.
        answers: The successful answers.
        found: The image behind each link, or the error if it is lost; ``requests`` holds the request for each link.
        held: True if later calls went on without this call.
        unsent: True if its source was withheld, so that no request is sent for it.
        cancelling: Slot of the cancellation without an outcome; None if there is none.
    """

    policy: Policy
    call: Call
    expected: Outgoing
    parent: str | None
    waiting: str | None = None
    asked: str = ""
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    since: int = 0
    answers: list[CallAnswer] = field(default_factory=list)
    found: dict[Link, Output] = field(default_factory=dict)
    requests: dict[Link, Outgoing] = field(default_factory=dict)
    held: bool = False
    unsent: bool = False
    cancelling: str | None = None

    @property
    def due(self) -> str:
        """The next step that is due, in words."""
        if self.waiting is not None:
            return f"what came of request {self.waiting}"
        if self.unsent:
            return f"what {self.call.slot} brought"
        if self.answers and self.answers[-1].is_open:
            return f"request {self.step_slot}"
        if self.fetching:
            return f"an image that the answer to {self.call.slot} points to"
        came = any(each.links is not None for each in self.answers[-1:])
        return f"what {self.call.slot} brought" if came else f"request {self.call.slot}"

    @property
    def own(self) -> list[Outcome]:
        """Outcomes of the attempts at the call itself."""
        return self.outcomes.setdefault(self.call.slot, [])

    @property
    def step_slot(self) -> str:
        """Slot of the next step of the last answer's job."""
        return job_slot(self.call.slot, len(self.answers[-1].bodies) - 1)

    @property
    def step(self) -> Outgoing | None:
        """The next step of the last answer's job, even if the step's result was unknown at an earlier attempt."""
        last = self.answers[-1] if self.answers else None
        return None if last is None or last.cancelled else last.due

    @property
    def cancel_slot(self) -> str:
        """Slot of the next request to cancel the last answer's job."""
        return cancel_slot(self.call.slot, self.answers[-1].cancelled)

    @property
    def cancellation(self) -> Outgoing | None:
        """The next request to cancel the last answer's job.

        None if the job is over, or all such requests were sent.
        """
        if not self.answers:
            return None
        last = self.answers[-1]
        return next(iter(self.policy.cancel_requests(last.bodies)[last.cancelled :]), None)

    @property
    def fetching(self) -> bool:
        """True if a job is not over, or images behind the last answer's links are missing.

        In these cases the call is not sent again.
        """
        if self.answers and self.answers[-1].is_open:
            return True
        links = [each for answer in self.answers[-1:] for each in _followed(answer.links)]
        left = any(each not in self.found for each in links)
        return left and all(isinstance(self.found.get(each, b""), bytes) for each in links)

    def points_to(self, slot: str, url: str) -> bool:
        """True if an answer contains this link, and its earlier links were fetched, in the answer's order."""
        for answer in self.answers:
            links = _followed(answer.links)
            untried = [each for each in links if each not in self.found]
            dead = [each for each in links if isinstance(self.found.get(each), ProviderError)]
            if (slot, url) in (*untried[:1], *dead):
                return True
        return False

    def is_lost(self) -> bool:
        """True if the last answer to a call brought no output and is final for the call."""
        loss = self.policy.find_loss(self.own) if len(self.own) > self.since else None
        if loss is None or not self.policy.is_borne(loss):
            return False
        last = self.own[-1]
        if not (isinstance(last, Answered) and last.succeeded):
            return True
        brought = self.brought(self.answers[-1])
        return brought is not None and brought.is_lost

    def brought(self, answer: CallAnswer) -> Brought | None:
        """Return an answer's outputs; None if they are not known yet, or the answer ends the run."""
        if answer.error is not None:
            return Brought([b""] * self.call.count, answer.error)
        links, body = answer.links, answer.bodies[-1]
        linked = [each if isinstance(each, ProviderError) else self.found.get(each) for each in links or ()]
        if links is None or answer.due is not None or any(each is None for each in linked):
            return None
        try:
            return Brought(
                *self.policy.read_outputs(self.call, body, [each for each in linked if each is not None])
            )
        except ProviderReplyError as error:
            return Brought([b""] * self.call.count, error)

    def list_brought(self) -> list[list[bytes]]:
        """Return all outputs that a call may have: those of complete answers, otherwise of partial answers."""
        if self.unsent:
            return [[b""] * self.call.count]
        found = [each for each in map(self.brought, self.answers) if each]
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
        part = part_of(answer.slot)
        if part == "link":
            try:
                self.found[answer.slot, self.asked] = require_max_size(body)
            except ProviderReplyError as error:
                self.found[answer.slot, self.asked] = error
        elif part == "call":
            self.answers.append(CallAnswer([body]))
            self._go_on(self.answers[-1])
        elif part == "job" and not self.answers[-1].cancelled:
            self.answers[-1].bodies.append(body)
            self._go_on(self.answers[-1])

    def lose(self) -> None:
        """Register that the result of a job is unknown, unless its cancellation was requested."""
        if not self.answers[-1].cancelled:
            self.answers[-1].error = ProviderReplyError("the outcome of a job is unknown")

    def _go_on(self, answer: CallAnswer) -> None:
        """Find the step that follows the last answer of a job, or the answer's links if the job is over."""
        answer.due = answer.error = None
        try:
            answer.due = self.policy.follow_up(self.call, answer.bodies)
        except ProviderReplyError as error:
            answer.error = error
        if answer.due is not None or answer.error is not None:
            return
        try:
            pointed = enumerate(self.policy.read_links(self.call, answer.bodies[-1]))
            answer.links = tuple(
                self._follow(link_slot(self.call.slot, place), link) for place, link in pointed
            )
        except (OtherModelError, UnlistedHostError):
            answer.links = None
        except ProviderReplyError:
            pass  # ``brought`` reads the outputs and reports the fault

    def _follow(self, slot: str, link: str | WireRequest) -> Link | ProviderError:
        try:
            request = self.policy.link_request(link)
        except UnlistedHostError:
            raise
        except ProviderReplyError as error:
            return error
        self.requests[slot, request.url] = request
        return slot, request.url


def _followed(links: Links | None) -> list[Link]:
    return [each for each in links or () if isinstance(each, tuple)]
