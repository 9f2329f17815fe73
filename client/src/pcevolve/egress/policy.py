"""Builds what leaves, for the gate: the rulebook's verdict, spelled in a dialect and addressed. Sends nothing.

A request is not looked through for what must not be in it, and nobody hands one in. It is built from the policy's own
copies of the public plan, of committed receipts and of what the API itself sent (docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import NoneType
from typing import TypeAlias

from pcevolve.egress.bounds import of_asked_size
from pcevolve.egress.links import follow
from pcevolve.egress.own_types import require_own_type
from pcevolve.egress.receipts import Receipts
from pcevolve.egress.transport import Address, Outgoing
from pcevolve.errors import EgressError
from pcevolve.providers.dialect import Dialect, WireRequest, misstated
from pcevolve.public.calls import Call
from pcevolve.public.fields import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho, Receipt
from pcevolve.rules import CARRIES, ItsPrompt, NoImage, OneImage, Refusal, RunState

Source: TypeAlias = Prototype | PublicEcho | None
"""What a call is said to vary, and why it may; nothing for text-to-image."""


class Policy:
    """What may leave in one run.

    Until ``fix`` has given it a plan, nothing may leave but the greeting, which is the same for everybody, and the
    question for the balance.
    """

    def __init__(self, dialect: Dialect, address: Address, received: Callable[[str], bytes]) -> None:
        """Start without a plan.

        Args:
            dialect: How calls are spelled.
            address: Where they go.
            received: Bytes that the API sent, by digest; raises if they are not those that the digest names.
        """
        self._dialect = dialect
        self._address = address
        self._received = received
        self._state: RunState | None = None
        self._receipts = Receipts()
        self._known: dict[str, Candidate] = {}

    def fix(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Say once and for all what the run will send, and who knows what was paid for.

        Args:
            plan: Every call of the run; the policy keeps a copy of its own.
            committed: Asks the ledger whether it has committed exactly this receipt.

        Raises:
            EgressError: The plan is for another API, or says what its requests do not.
        """
        if (plan.api, plan.dialect) != (self._address.base_url, self._dialect.name):
            raise EgressError("the plan is for another API than the one that this run is on record with")
        for fault in misstated(self._dialect, plan):
            raise EgressError(fault)
        self._state = RunState(own_copy(plan))
        self._receipts.fix(committed)

    @property
    def fixed(self) -> bool:
        """Whether there is a plan."""
        return self._state is not None

    @property
    def complete(self) -> bool:
        """Whether every call of the plan was answered."""
        return self._state is not None and self._state.complete

    def greeting(self) -> Outgoing:
        """The first request of every run."""
        return self._address.outgoing(self._dialect.hello())

    def balance_request(self) -> Outgoing | None:
        """The question for what is left on the account; the same for everybody, where the API can be asked."""
        question = self._dialect.balance_request()
        return None if question is None else self._address.outgoing(question)

    def link(self, link: str) -> Outgoing:
        """The request for an image that an answer only points to.

        Raises:
            EgressError: There is no plan yet.
            ProviderReplyError: The plan does not let it be followed.
        """
        if self._state is None:
            raise EgressError("no link is followed before the plan is fixed")
        return follow(self._state.plan, link)

    def admit(self, made: list[bytes]) -> list[bytes]:
        """Pass on what an answer brought, if it is of a bearable size.

        Raises:
            ProviderReplyError: It is not.
        """
        return made if self._state is None else of_asked_size(self._state.plan, made)

    def request_for(self, call: Call, source: Source) -> Outgoing:
        """Build the one request that may leave for a call.

        For a call that was answered, which never leaves again, it is the request that had left.

        Args:
            call: A call of the plan.
            source: What the caller takes the call to vary; has to be what the rulebook says.

        Raises:
            EgressError: Why nothing may leave for this call, or not from this source.
            TranscriptError: The received bytes are no longer what the API had sent.
        """
        require_own_type(call, Call)
        require_own_type(source, NoneType, Prototype, PublicEcho, copied=self._receipts)
        state = self._state
        if state is None:
            raise EgressError(f"request {call.slot} is not in the public plan: no plan is fixed yet")
        refusal = None if state.has_answer(call) else state.turn_of(call)
        if refusal is not None:
            raise EgressError(f"request {call.slot} {refusal.why}")
        self._require_reason(state, call, source)
        outgoing = self._address.outgoing(self._spelled(state, state.plan.calls[call.slot], source))
        state.note_leaving(call)
        return outgoing

    def require_committed(self, receipt: Receipt) -> Receipt:
        """Refuse a receipt that nobody paid for.

        Returns:
            The policy's own copy, always the same one of equal receipts.

        Raises:
            EgressError: The ledger does not know it.
        """
        own = self._receipts.own(receipt)
        if own is None:
            raise EgressError(
                f"the ledger knows no receipt for iteration {receipt.iteration}: is it the one that the run began with?"
            )
        if self._state is not None:
            self._state.note_receipt(own)
        return own

    def note_answer(self, call: Call, brought: Iterable[Candidate]) -> None:
        """Take note that a call was answered, and by what."""
        own = [replace(each) for each in brought]  # copies: whoever holds the others can change them
        self._known.update((each.id, each) for each in own)
        if self._state is not None:
            self._state.note_outputs(call.slot, [each.digest for each in own])

    def _require_reason(self, state: RunState, call: Call, source: Source) -> None:
        """Refuse a source of another kind than the call's purpose has, and a receipt that nobody paid for this call.

        A receipt that was paid for counts for the rulebook from here on.
        """
        if type(source) is not _kind_of(call):
            raise EgressError(f"request {call.slot} must carry {CARRIES[call.purpose]}")
        if not isinstance(source, Prototype):
            return
        receipt = self._receipts.own(source.receipt)
        if receipt is None:
            raise EgressError(f"request {call.slot}: the ledger knows no receipt for its image")
        if (receipt.run_id, receipt.iteration, source.candidate.label) != (
            state.plan.run_id,
            call.iteration,
            call.label,
        ):
            raise EgressError(f"request {call.slot}: the receipt is for another run, iteration or class")
        state.note_receipt(receipt)

    def _spelled(self, state: RunState, call: Call, source: Source) -> WireRequest:
        """The request with the received bytes that the rulebook lets it carry, or with the prompt in their place."""
        verdict = state.image_of(call)
        if isinstance(verdict, Refusal):
            raise EgressError(f"request {call.slot} {verdict.why}")
        if isinstance(verdict, NoImage) or source is None:
            return self._dialect.encode(state.plan, call, None)
        self._require_named(verdict, call, source)
        if isinstance(verdict, ItsPrompt):
            return self._dialect.encode(state.plan, replace(call, wording=verdict.wording), None)
        return self._dialect.encode(state.plan, call, self._received(verdict.image.digest))

    def _require_named(
        self, verdict: OneImage | ItsPrompt, call: Call, source: Prototype | PublicEcho
    ) -> None:
        """Refuse a source that is not the image that the rulebook names."""
        if source.candidate.id != verdict.image.id:
            names = "the receipt names another candidate"
            carries = f"it must carry {CARRIES[call.purpose]}"
            raise EgressError(f"request {call.slot}: {names if isinstance(source, Prototype) else carries}")
        if source.candidate != self._known[verdict.image.id]:
            raise EgressError(f"request {call.slot}: {verdict.image.id} is not what the API sent")


def _kind_of(call: Call) -> type:
    """What a call's source has to be: nothing, what the plan names, or what a receipt chose."""
    if call.purpose == "create":
        return NoneType
    return Prototype if call.source is None else PublicEcho


def own_copy(plan: PublicPlan) -> PublicPlan:
    """A plan that nobody else holds: whoever holds the other can change it, its table of calls above all.

    Raises:
        EgressError: It is no plan, or none that could be read back.
    """
    if type(plan) is not PublicPlan:
        raise EgressError("what was handed to the gate is no public plan")
    try:
        return PublicPlan.model_validate_json(plan.model_dump_json(warnings=False))
    except ValueError:  # its text would repeat what stands in the plan
        raise EgressError("what was handed to the gate is no public plan that can be written down") from None


def own_extension(extension: Extension) -> Extension:
    """An extension that nobody else holds.

    Raises:
        EgressError: It is none, or none that could be read back.
    """
    if type(extension) is not Extension:
        raise EgressError("what was handed to the gate is no extension")
    try:
        return Extension.model_validate_json(extension.model_dump_json(warnings=False))
    except ValueError:
        raise EgressError("what was handed to the gate is no extension that can be written down") from None
