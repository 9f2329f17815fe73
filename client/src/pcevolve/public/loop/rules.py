"""The rules for requests: which bytes may this call carry, in this state of the record? All functions are pure.

A request of the plan carries no image, or exactly one image that the provider itself sent before. There are two
possible reasons for sending an image. Either the public plan names the image whatever the private data are, or a
receipt on record chose the image. In a run that starts from a release, the plan also names the images of that
release, by their digests.

In a plan that varies by prompt, an image is named for the same reasons but not sent. The request then carries the
plan's prompt from which the provider made the image.

All other requests are refused. A further reason to send an image would need another class in ``Reason`` and another
branch in ``RunState.image_of``.

Four programs use these rules. The gate sends only what they allow. The audit runs the gate again over the record. The
report counts images without a reason. The wire page shows each image's reason. ``auditing.second_check`` is an
independent second implementation, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Final, TypeAlias

from pcevolve.public.calls import Call, Purpose
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen, Receipt, list_start


@dataclass(frozen=True)
class PlanNames:
    """A reason to send an image: the public plan sends this candidate back, whatever the private data are."""


@dataclass(frozen=True)
class ReceiptChose:
    """A reason to send an image: a paid release chose this candidate for the call's class and iteration."""

    receipt: Receipt


Reason: TypeAlias = PlanNames | ReceiptChose
Wording: TypeAlias = int
"""A prompt, given as its index among the prompts of its class in the plan."""


@dataclass(frozen=True)
class NoImage:
    """The call is text-to-image: it carries its prompt and no image."""


@dataclass(frozen=True)
class OneImage:
    """The call carries this image, byte for byte as the provider sent it.

    Attributes:
        image: Candidate id, and SHA-256 of the bytes.
        reason: Why the image may be sent.
        wording: The prompt that made the image, if the call repeats this prompt. None for the template.
    """

    image: Chosen
    reason: Reason
    wording: Wording | None = None


@dataclass(frozen=True)
class ItsPrompt:
    """The call carries no image, but the prompt from which the provider made this image.

    Attributes:
        image: Candidate id, and SHA-256 of the bytes.
        wording: The prompt.
        reason: Why the prompt may be sent.
    """

    image: Chosen
    wording: Wording
    reason: Reason


@dataclass(frozen=True)
class Refusal:
    """The call may not be sent. ``why`` gives the reason, without private data or text from the provider."""

    why: str


Verdict: TypeAlias = NoImage | OneImage | ItsPrompt | Refusal

CARRIES: Final[dict[Purpose, str]] = {
    "create": "no image",
    "follow": "an image of the release that the plan starts from, and nothing else",
    "vary": "a released prototype",
    "look": "the candidate that the plan names, and nothing else",
    "extend": "the candidate that the plan names, and nothing else",
}
"""What a call of each purpose carries, in words."""


@dataclass(frozen=True)
class _Output:
    """The provider's output with a candidate's id."""

    label: str
    iteration: int
    digest: str
    wording: Wording | None = None


@dataclass
class RunState:
    """The facts of a run's record that decide which calls may be sent next.

    The state registers outputs and receipts, and trusts its caller. The gate reports receipts that the ledger has
    committed. A page reports the receipts of a record, which may be forged.
    """

    plan: PublicPlan
    _calls: tuple[Call, ...] = field(init=False, repr=False)
    _places: dict[str, int] = field(init=False, repr=False)
    _before: tuple[int, ...] = field(init=False, repr=False)
    _answered: set[str] = field(default_factory=set, init=False, repr=False)
    _held: set[str] = field(default_factory=set, init=False, repr=False)
    _first: int = field(default=0, init=False, repr=False)
    _begun: int = field(default=0, init=False, repr=False)
    _outputs: dict[str, _Output] = field(default_factory=dict, init=False, repr=False)
    _receipts: dict[int, Receipt] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Number the calls of the plan."""
        self._calls = tuple(self.plan.calls.values())
        self._places = {call.slot: place for place, call in enumerate(self._calls)}
        self._before = tuple(accumulate((call.count for call in self._calls), initial=0))
        for each in chain(*list_start(self.plan).values()):
            self._outputs[each.id] = _Output(each.label, each.iteration, each.digest)

    @property
    def answered(self) -> int:
        """The number of calls that were answered in their turn."""
        return len(self._answered)

    @property
    def complete(self) -> bool:
        """True if every call of the plan is answered."""
        return self.answered == len(self._calls)

    def note_outputs(self, slot: str, digests: Sequence[str]) -> None:
        """Register the outputs of a call.

        An answer out of turn cannot advance the run or change an earlier answer. Its outputs are still registered,
        so that the rest of a record with a gap can be explained.

        Args:
            digests: SHA-256 of each output, in order.
        """
        call = self.plan.calls.get(slot)
        if call is None:
            return
        due = self._is_due(call)
        wording = self._wording_of(call)
        for index, digest in enumerate(digests):
            output = _Output(call.label, call.iteration, digest, wording)
            if due:
                self._outputs[call.output(index)] = output
            else:
                self._outputs.setdefault(call.output(index), output)
        # Only an answer in its turn counts. After a gap, answers explain later calls but do not let the run continue.
        if due:
            self._answered.add(slot)
        self._advance(self._first)

    def note_held(self, slot: str) -> None:
        """Register that a call returned nothing. It counts as unanswered, but later calls need not wait for it."""
        self._held.add(slot)
        self._advance(self._first)

    def forget_held(self) -> None:
        """Register that calls which returned nothing are sent again, each in its turn."""
        self._held.clear()
        self._advance(0)

    def _advance(self, place: int) -> None:
        """Find the first call, from ``place`` on, for which later calls must wait."""
        settled = self._answered | self._held
        while place < len(self._calls) and self._calls[place].slot in settled:
            place += 1
        self._first = place

    def note_receipt(self, receipt: Receipt) -> None:
        """Register a receipt. An honest record has one for each iteration; in a forged record the last one counts."""
        self._receipts[receipt.iteration] = receipt

    def note_leaving(self, call: Call) -> None:
        """Register that a call is sent. Calls are sent in the plan's order, whichever is answered first."""
        # The number never decreases, because a retry must not let a later call be sent again as if it were new.
        self._begun = max(self._begun, self._places[call.slot] + 1)

    def wording(self, candidate: str) -> Wording | None:
        """Return the prompt that made an image, or None for the template or an unknown image."""
        output = self._outputs.get(candidate)
        return None if output is None else output.wording

    def turn_of(self, call: Call) -> Refusal | None:
        """Return the refusal of a call that may not be sent now, whatever it carries, or None if it is the call's turn.

        It is the turn of the first unanswered call and of later calls of the same round, up to the plan's
        ``at_once`` images in total. Their content was fixed before the first of them was sent. The order in which
        calls are first sent is the plan's order and therefore reveals nothing.
        """
        # The complete call is compared, because a call with the right slot could have another prompt or parent.
        if self.plan.calls.get(call.slot) != call:
            return Refusal("is not in the public plan")
        if self.has_answer(call):
            return Refusal("is asked again after it was answered")
        return None if self._is_due(call) else Refusal("is out of order")

    def has_answer(self, call: Call) -> bool:
        """Return True if a call of the plan was answered in its turn. Such a call is never sent again."""
        return self.plan.calls.get(call.slot) == call and call.slot in self._answered

    def _is_due(self, call: Call) -> bool:
        """Return True if a call of the plan may be in flight now."""
        if call.slot in self._answered or (call.slot not in self._held and self._first == len(self._calls)):
            return False
        if call.slot in self._held:
            return True
        place, first = self._places[call.slot], self._calls[self._first]
        # Only within the round: the next round's calls depend on a selection that waits for these answers.
        of_its_round = (call.iteration, call.purpose) == (first.iteration, first.purpose)
        asked = self._before[place + 1] - self._before[self._first]
        # In the plan's order: if the client could choose which call is sent first, the choice could carry a bit.
        in_order = place <= max(self._begun, self._first)
        return place == self._first or (of_its_round and in_order and asked <= self.plan.provider.at_once)

    def image_of(self, call: Call) -> Verdict:
        """Return the verdict on a call's image, whether or not it is the call's turn. Checks of old records use it."""
        if call.purpose == "create":
            return NoImage()
        if call.source is not None:
            return self._by_plan(call)
        return self._by_receipt(call)

    def _by_plan(self, call: Call) -> Verdict:
        """Judge an image that the plan itself names."""
        output = self._outputs.get(call.source or "")
        if output is None:
            return Refusal("carries an image that the plan names and the provider had not sent")
        if output.label != call.label:
            return Refusal("carries an image that the plan names for another class")
        return self._or_its_prompt(call, Chosen(call.source or "", output.digest), output, PlanNames())

    def _by_receipt(self, call: Call) -> Verdict:
        """Judge an image that a receipt chose."""
        receipt = self._receipts.get(call.iteration)
        chosen = () if receipt is None else receipt.of(call.label)
        if receipt is None or call.parent is None or call.parent >= len(chosen):
            return Refusal("has no receipt for its class and iteration")
        # Another run of the same ledger also has paid receipts, but for other candidates.
        if receipt.run_id != self.plan.run_id:
            return Refusal("has a receipt of another run")
        named = chosen[call.parent]
        output = self._outputs.get(named.id)
        if output is None or output.digest != named.digest:
            return Refusal("has a receipt that names an image that is not what the API sent")
        if output.label != call.label:
            return Refusal("has a receipt that names an image of another class")
        # Iterations increase, so a receipt cannot have chosen a later candidate.
        if output.iteration >= receipt.iteration:
            return Refusal("has a receipt that names an image of no earlier iteration")
        return self._or_its_prompt(call, named, output, ReceiptChose(receipt))

    def _or_its_prompt(self, call: Call, image: Chosen, output: _Output, reason: Reason) -> Verdict:
        """Return the image, or its prompt if the plan varies by prompt."""
        if not self.plan.varies_prompts:
            return OneImage(image, reason, output.wording if self.plan.keeps_prompts else None)
        if output.wording is None:
            return Refusal("varies an image of which no prompt is known")
        return ItsPrompt(image, output.wording, reason)

    def _wording_of(self, call: Call) -> Wording | None:
        """Return the prompt that makes a call's images."""
        if call.purpose == "create":
            return call.wording
        verdict = self.image_of(call) if self.plan.keeps_prompts else None
        return verdict.wording if isinstance(verdict, ItsPrompt | OneImage) else None
