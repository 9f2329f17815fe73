"""What may leave, and why; default-deny. Decides and builds, sends nothing.

A request is not looked through for what must not be in it. It is built anew from the public plan, from the committed
receipt and from what the API itself sent, and what was handed in has to be the same bytes (docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from pcevolve.egress.bounds import of_asked_size
from pcevolve.egress.links import follow
from pcevolve.egress.plain import require_plain
from pcevolve.egress.transport import Address, Outgoing
from pcevolve.errors import EgressError
from pcevolve.providers.dialect import Dialect, WireRequest
from pcevolve.public.plan import Call, PublicPlan, Purpose
from pcevolve.public.release import Candidate, Chosen, Prototype, PublicEcho, PublicPrompt, Receipt

Source = Prototype | PublicEcho | None
_CARRIES: Final[dict[Purpose, str]] = {
    "create": "no image",
    "vary": "a released prototype",
    "look": "the candidate that the plan names, and nothing else",
    "extend": "the candidate that the plan names, and nothing else",
}


class Policy:
    """The rules of one run.

    Until ``fix`` has given it a plan, nothing may leave but the greeting, which is the same for everybody.
    """

    def __init__(self, dialect: Dialect, address: Address, received: Callable[[str], bytes]) -> None:
        """Start without a plan.

        Args:
            dialect: How calls are spelled.
            address: Where they go.
            received: Bytes that the API sent, by digest.
        """
        self._dialect = dialect
        self._address = address
        self._received = received
        self._plan: PublicPlan | None = None
        self._committed: Callable[[Receipt], bool] = lambda _: False
        self._order: dict[str, int] = {}
        self._next = 0
        self._known: dict[str, Candidate] = {}
        self._paid: set[str] = set()

    def fix(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Say once and for all what the run will send, and who knows what was paid for.

        Raises:
            EgressError: The plan is for another API.
        """
        if (plan.api, plan.dialect) != (self._address.base_url, self._dialect.name):
            raise EgressError("the plan is for another API than the one that this run is on record with")
        # A copy of our own: whoever holds the plan can change it behind our back, its table of calls above all.
        self._plan = PublicPlan.model_validate_json(plan.model_dump_json())
        self._committed = committed
        self._order = {slot: place for place, slot in enumerate(self._plan.calls)}

    @property
    def fixed(self) -> bool:
        """Whether there is a plan."""
        return self._plan is not None

    @property
    def complete(self) -> bool:
        """Whether every call of the plan was answered."""
        return self._plan is not None and self._next == len(self._order)

    def greeting(self) -> Outgoing:
        """The first request of every run."""
        return self._address.outgoing(self._dialect.hello())

    def account(self) -> Outgoing | None:
        """The question for what is left on the account; the same for everybody, where the API can be asked."""
        question = self._dialect.account()
        return None if question is None else self._address.outgoing(question)

    def link(self, link: str) -> Outgoing:
        """The request for an image that an answer only points to.

        Raises:
            EgressError: There is no plan yet.
            ProviderReplyError: The plan does not let it be followed.
        """
        if self._plan is None:
            raise EgressError("no link is followed before the plan is fixed")
        return follow(self._plan, link)

    def admit(self, made: list[bytes]) -> list[bytes]:
        """Pass on what an answer brought, if it is of a bearable size.

        Raises:
            ProviderReplyError: It is not.
        """
        return made if self._plan is None else of_asked_size(self._plan, made)

    def permit(self, request: WireRequest, call: Call, source: Source) -> Outgoing:
        """The request that may leave for a call, built here; the one that was handed in has to be the same.

        Raises:
            EgressError: Why it may not leave.
        """
        require_plain(request, call, source)
        plan = self._plan
        if plan is None or plan.calls.get(call.slot) != call:
            raise EgressError(f"request {call.slot} is not in the public plan")
        if self._order[call.slot] > self._next:
            raise EgressError(f"request {call.slot} is out of order")
        image = self._image(plan, call, source)
        allowed = self._dialect.encode(plan, call, PublicPrompt.of(plan, call.label), image)
        if allowed != request:
            raise EgressError(f"request {call.slot} differs from what the plan and the release give")
        return self._address.outgoing(allowed)

    def require_committed(self, receipt: Receipt) -> None:
        """Refuse a receipt that nobody paid for.

        Raises:
            EgressError: The ledger does not know it.
        """
        require_plain(receipt)
        if not self._is_paid(receipt):
            raise EgressError(
                f"the ledger knows no receipt for iteration {receipt.iteration}: is it the one that the run began with?"
            )

    def learn(self, call: Call, brought: Iterable[Candidate]) -> None:
        """Take note that a call was answered, and by what."""
        self._known.update((each.id, replace(each)) for each in brought)  # copies, for the same reason
        self._next = max(self._next, self._order[call.slot] + 1)

    def _is_paid(self, receipt: Receipt) -> bool:
        """Whether the ledger knows exactly this receipt.

        It is asked once for each: how long it takes to answer depends on what others spend meanwhile, and shall not
        show between two requests of a round.
        """
        if receipt.id not in self._paid and self._committed(receipt):
            self._paid.add(receipt.id)
        return receipt.id in self._paid

    def _image(self, plan: PublicPlan, call: Call, source: Source) -> bytes | None:
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
        return self._received(candidate.digest)

    def _allow(self, plan: PublicPlan, call: Call, prototype: Prototype) -> None:
        """Refuse a prototype that no committed receipt allows for this call."""
        candidate, receipt = prototype.candidate, prototype.receipt
        if not self._is_paid(receipt):
            raise EgressError(f"request {call.slot}: the ledger knows no receipt for {candidate.id}")
        if (receipt.run_id, receipt.iteration, candidate.label) != (plan.run_id, call.iteration, call.label):
            raise EgressError(f"request {call.slot}: the receipt is for another run, iteration or class")
        place = call.parent or 0
        if receipt.of(call.label)[place : place + 1] != (Chosen(candidate.id, candidate.digest),):
            raise EgressError(f"request {call.slot}: the receipt names another candidate")
