"""Build the gate's requests by the rulebook's verdict, encoded in a dialect and addressed. Nothing is sent here.

Requests are not filtered, and none is passed in. Each is built from the public plan, from committed
receipts and from what the API itself sent (docs/decisions/0018). The audit builds the expected requests
with the same policy, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, TypeAlias

from pcevolve.errors import EgressError, OtherModelError, ProviderError, ProviderReplyError, printable
from pcevolve.public.calls import Call
from pcevolve.public.loop.rules import CARRIES, ItsPrompt, NoImage, OneImage, Refusal, RunState
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import WITHHELD, Candidate, Prototype, PublicEcho, Receipt, list_start
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.records import Answered
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.answers import LONGEST_NAME, check_size, follow, is_same_model
from pcevolve.wire.egress.losses import FinalLoss, Outcome, find_loss, is_dead, is_gone
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest, find_misstatements
from pcevolve.wire.providers.faults import Fault

Source: TypeAlias = Prototype | PublicEcho | None
"""The candidate that a call varies, with the reason for sending it; None for text-to-image."""
MOST_JOB_ANSWERS: Final = 360
"""Largest number of answers about a job before the job is given up; the pauses between them add up to about an hour."""


class Policy:
    """The rules for requests of one run.

    Before ``fix`` sets the plan, only requests that are the same for everyone are allowed: the greeting,
    the request for the balance, and the request for two texts at once.
    """

    def __init__(self, dialect: Dialect, address: Address, bodies: Bodies) -> None:
        """Start without a plan; ``bodies`` holds what the API sent, and verifies it by digest."""
        self._dialect = dialect
        self._address = address
        self._bodies = bodies
        self._proven = False
        self._state: RunState | None = None
        # Without a plan no receipt counts.
        self._committed: Callable[[Receipt], bool] = lambda receipt: False
        self._receipts: dict[int, Receipt] = {}
        self._known: dict[str, Candidate] = {}

    def fix(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Set the plan and the check of payments, once (``EgressError`` for another API)."""
        # The address is part of the plan, so that a key cannot be sent to a host that the plan does not name.
        if (plan.provider.api, plan.provider.dialect) != (self._address.base_url, self._dialect.name):
            raise EgressError("the plan names a different API from the one in this run's record")
        # A plan with a seed for a dialect without seeds would describe requests that were never sent.
        for fault in find_misstatements(self._dialect, plan):
            raise EgressError(fault)
        self._state = RunState(plan)
        # Images of the source release were never answers of this run, so the plan names them.
        self._known.update((each.id, each) for each in chain(*list_start(plan).values()))
        self._committed = committed

    @property
    def fixed(self) -> bool:
        return self._state is not None

    def require_beginning(self) -> None:
        """Refuse steps that belong before the plan, once the plan is set (``EgressError``)."""
        if self.fixed:
            raise EgressError(
                "the plan of this run is already fixed: the steps before the plan cannot be repeated"
            )

    @property
    def calls(self) -> Mapping[str, Call]:
        """Every call of the plan by slot; empty without a plan."""
        return {} if self._state is None else self._state.plan.calls

    @property
    def complete(self) -> bool:
        return self._state is not None and self._state.complete

    def greeting_request(self) -> Outgoing:
        """Return the first request of every run."""
        return self._address.outgoing(self._dialect.hello())

    def balance_request(self) -> Outgoing | None:
        """Return the request for the account's balance, the same for everyone; None if the API has no such request."""
        question = self._dialect.balance_request()
        return None if question is None else self._address.outgoing(question)

    def trial_request(self, model: str) -> Outgoing | None:
        """Return the request for two texts at once, the same for all users of this model; None if it is not needed."""
        question = self._dialect.trial(model)
        return None if question is None else self._address.outgoing(question)

    def follow_up(self, call: Call, answers: Sequence[bytes]) -> Outgoing | None:
        """Return the next request about a call's job after the answers so far; None once the job is over.

        Raises:
            ProviderReplyError: The job failed, does not end, or the last answer breaks the API's contract.
        """
        state = self._require_state(call)
        step = self._dialect.follow_up(state.plan, self._fill(state, state.plan.calls[call.slot]), answers)
        # Counted in answers, not by a clock, so that the audit reaches the same end.
        if step is not None and len(answers) > MOST_JOB_ANSWERS:
            raise ProviderReplyError("the API did not finish a job within an hour")
        return None if step is None else self._address.outgoing(step)

    def cancel_requests(self, answers: Sequence[bytes]) -> list[Outgoing]:
        """Return the requests that end a job; empty if the job is over, or if jobs cannot be ended."""
        return [self._address.outgoing(each) for each in self._dialect.cancel(answers)]

    def link_request(self, link: str | WireRequest) -> Outgoing:
        """Return the request for an image behind a link, which leads to another host or to the API itself.

        Raises:
            EgressError: There is no plan yet.
            ProviderReplyError: The plan does not allow the link.
        """
        if self._state is None:
            raise EgressError("links are not fetched before the plan is fixed")
        # At the API itself, the request has the key; a link elsewhere gets neither key nor cookies.
        if isinstance(link, WireRequest):
            return self._address.outgoing(link)
        return follow(self._state.plan, link)

    def read_links(self, call: Call, body: bytes) -> tuple[str | WireRequest, ...]:
        """Return the links in an answer (``OtherModelError`` for another model, else ``ProviderReplyError``)."""
        # Before images are read, because another model's images are not what was paid for.
        self._require_model(call, body)
        return self._dialect.links(call, body)

    def read_outputs(
        self, call: Call, body: bytes, linked: Sequence[Output]
    ) -> tuple[list[bytes], ProviderError | None]:
        """Return an answer's outputs, empty where missing, and why some are missing.

        Raises:
            ProviderReplyError: The answer as a whole breaks the API's contract.
        """
        plan = self._require_state(call).plan
        made = [check_size(plan, each) for each in self._dialect.read_outputs(call, body, linked)]
        errors = [each for each in made if isinstance(each, ProviderError)]
        return [b"" if isinstance(each, ProviderError) else each for each in made], next(iter(errors), None)

    def find_loss(self, outcomes: Sequence[Outcome]) -> FinalLoss | None:
        """Return the loss if the outcomes of a call's attempts are final for the call; see ``losses.find_loss``."""
        return find_loss(outcomes, self._fault_of)

    def is_borne(self, loss: FinalLoss) -> bool:
        """True if the run continues without the lost outputs, because the answer concerned one request alone."""
        return loss.is_borne(self._proven)

    def is_dead(self, outcomes: Sequence[Outcome]) -> bool:
        """True if the target of a link is lost; see ``losses.is_dead``."""
        return is_dead(outcomes, self._fault_of)

    def is_gone(self, outcomes: Sequence[Outcome]) -> bool:
        """True if the result of a job cannot be learned; see ``losses.is_gone``."""
        return is_gone(outcomes, self._fault_of)

    def _fault_of(self, answer: Answered) -> Fault:
        return self._dialect.fault(answer.status, self._bodies.get(answer.body))

    def varies_what_was_withheld(self, call: Call) -> bool:
        """True if a call varies an image that never came; nothing is sent for such a call, and it has no outputs."""
        state = self._require_state(call)
        verdict = state.image_of(call)
        # An empty text only means that the model reasoned for too long; it is varied by a new request.
        inline = state.plan.modality.sends_inline
        return not inline and isinstance(verdict, OneImage) and verdict.image.digest == WITHHELD

    def _require_state(self, call: Call) -> RunState:
        if self._state is None:
            raise EgressError(f"request {call.slot} cannot be sent: no plan is fixed yet")
        return self._state

    def _require_model(self, call: Call, body: bytes) -> None:
        """Refuse an answer that names another model than the requested one."""
        plan, named = self._require_state(call).plan, self._dialect.answered_by(body)
        # An API that names no model is believed, because most APIs name none.
        if named and not is_same_model(plan.provider.answered_by or plan.provider.model, named):
            name = printable(named)[:LONGEST_NAME]
            raise OtherModelError(
                f"the API answered with the model '{name}', but '{plan.provider.model}' was requested: "
                "start a new run with the right model or, if the API calls the requested model by that "
                f"name, with --set provider.answered_by='{name}'"
            )

    def request_for(self, call: Call, source: Source) -> Outgoing:
        """Build the one request that may be sent for a call; ``source`` must be the one that the rulebook names.

        An answered call is never sent again; for it, the request that was sent is built.

        Raises:
            EgressError: Nothing may be sent for this call, or not from this source; the message gives the
                reason.
            TranscriptError: The stored bytes differ from those that the API sent.
        """
        # An answered call is only rebuilt for comparison, so it need not be its turn.
        state = self._require_state(call)
        refusal = None if state.has_answer(call) else state.turn_of(call)
        if refusal is not None:
            raise EgressError(f"request {call.slot} {refusal.why}")
        # The reason is checked before the bytes, so that without a reason nothing is read from disk.
        self._require_reason(state, call, source)
        # The plan's own call, not the caller's: they are equal, but only the plan's was read from the record.
        outgoing = self._address.outgoing(self._spell(state, state.plan.calls[call.slot], source))
        state.note_leaving(call)
        return outgoing

    def find_start(self, call: Call) -> PublicEcho | None:
        """Return the image of the source release that a call varies; None for other calls."""
        return (
            PublicEcho(self._known[call.source])
            if call.purpose == "follow" and call.source in self._known
            else None
        )

    def may_begin(self, call: Call) -> bool:
        """True if it is a call's turn, or the call was answered and nothing has to be sent."""
        state = self._state
        return state is not None and (state.has_answer(call) or state.turn_of(call) is None)

    def require_committed(self, receipt: Receipt) -> None:
        """Refuse a receipt that was not paid for; a receipt that was paid for is accepted from now on.

        The ledger is asked once per receipt: the time of its answer depends on other runs' spending, and
        must not be visible between two requests of a round.

        Raises:
            EgressError: The ledger does not know the receipt.
        """
        if self._receipts.get(receipt.iteration) != receipt:
            if not self._committed(receipt):
                where = f"iteration {receipt.iteration}"
                raise EgressError(
                    f"the ledger has no receipt for {where}: is it the ledger that the run began with?"
                )
            self._receipts[receipt.iteration] = receipt
        if self._state is not None:
            self._state.note_receipt(receipt)

    def note_answer(self, call: Call, brought: Sequence[Candidate]) -> None:
        """Register that a call was answered, with its outputs."""
        self._known.update((each.id, each) for each in brought)
        # One complete success shows that key, address and fields are right, so later refusals concern single
        # requests.
        self._proven |= bool(brought) and all(each.digest != WITHHELD for each in brought)
        if self._state is not None:
            self._state.note_outputs(call.slot, [each.digest for each in brought])

    def note_held(self, call: Call) -> None:
        """Register that a call had no outputs, so that later calls may be sent."""
        self._require_state(call).note_held(call.slot)

    def forget_held(self) -> None:
        """Register that held calls will be sent again."""
        if self._state is not None:
            self._state.forget_held()

    def _require_reason(self, state: RunState, call: Call, source: Source) -> None:
        """Refuse a source of the wrong type for the call's purpose, or a receipt that was not paid for this call."""
        # By type: text-to-image sends no image, so a call of that purpose must not be given one.
        if not isinstance(source, _kind_of(call)):
            raise EgressError(f"request {call.slot} must carry {CARRIES[call.purpose]}")
        if not isinstance(source, Prototype):
            return
        receipt = source.receipt
        self.require_committed(receipt)
        due = (state.plan.run_id, call.iteration, call.label)
        if (receipt.run_id, receipt.iteration, source.candidate.label) != due:
            raise EgressError(f"request {call.slot}: the receipt is for another run, iteration or class")

    def _spell(self, state: RunState, call: Call, source: Source) -> WireRequest:
        """Encode a request with the stored bytes that the rulebook allows, or with the prompt in their place."""
        verdict = state.image_of(call)
        if isinstance(verdict, Refusal):
            raise EgressError(f"request {call.slot} {verdict.why}")
        api_dialect, filled = self._dialect, self._fill(state, call)
        if isinstance(verdict, NoImage) or source is None:
            return api_dialect.encode(state.plan, filled, None)
        self._require_named(verdict, call, source)
        # The chosen candidate's prompt is sent instead of its image.
        if isinstance(verdict, ItsPrompt):
            return api_dialect.encode(state.plan, filled, None)
        # The bytes come from the record, by the digest that the rulebook names, so no bytes of a caller can
        # be sent.
        return api_dialect.encode(state.plan, filled, self._bodies.file(verdict.image.digest))

    def _fill(self, state: RunState, call: Call) -> Call:
        """Return a call with the prompt that the rulebook gives it."""
        verdict = state.image_of(call)
        wording = verdict.wording if isinstance(verdict, ItsPrompt | OneImage) else call.wording
        return replace(call, wording=wording)

    def _require_named(
        self, verdict: OneImage | ItsPrompt, call: Call, source: Prototype | PublicEcho
    ) -> None:
        """Refuse a source that is not the image that the rulebook names."""
        if source.candidate.id != verdict.image.id:
            names = "the receipt names a different candidate"
            carries = f"it must carry {CARRIES[call.purpose]}"
            raise EgressError(f"request {call.slot}: {names if isinstance(source, Prototype) else carries}")
        # Digest and parent are compared too, so that a candidate with a known name and other bytes is
        # refused.
        if source.candidate != self._known[verdict.image.id]:
            raise EgressError(f"request {call.slot}: {verdict.image.id} differs from what the API sent")


def _kind_of(call: Call) -> type:
    """Return the type of a call's source: none, one that the plan names, or one that a receipt chose."""
    if call.purpose == "create":
        return type(None)
    return Prototype if call.source is None else PublicEcho
