"""The rules for requests: which bytes may this call carry, in this state of the record? Pure functions.

A request of the plan carries no image, or exactly one that the provider itself had sent, for one of two
reasons: the public plan names the image for any private data, or a receipt on record chose it. In a run that
starts from a release the plan names that release's images too, each by its digest.

In a plan that varies by prompt, the image is named for the same reason but not sent: the request carries the
plan's prompt with which the provider had made it.

Everything else is refused. Another reason to leave would be one more class in ``Reason`` and one more branch
in ``RunState.image_of``.

The rules are used by the gate, which lets nothing else out; by the audit, which runs the gate again over the
record; by the report, which counts images without a reason; and by the wire page, which shows each image's
reason. ``auditing.second_check`` is an independent second implementation, and a test compares the two.
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
    """A reason to leave: the public plan sends this candidate back, for any private data."""


@dataclass(frozen=True)
class ReceiptChose:
    """A reason to leave: a paid release chose this candidate for the call's class and iteration."""

    receipt: Receipt


Reason: TypeAlias = PlanNames | ReceiptChose
Wording: TypeAlias = int
"""A prompt, by its place among its class's prompts in the plan."""


@dataclass(frozen=True)
class NoImage:
    """The call is text-to-image: it carries its prompt and no image."""


@dataclass(frozen=True)
class OneImage:
    """The call carries this image, byte for byte as the provider had sent it.

    Attributes:
        image: Candidate id, and SHA-256 of the bytes.
        wording: The prompt that made it, if the call keeps that; None for the template.
    """

    image: Chosen
    reason: Reason
    wording: Wording | None = None


@dataclass(frozen=True)
class ItsPrompt:
    """The call carries no image, but the prompt with which the provider had made this one.

    Attributes:
        image: Candidate id, and SHA-256 of the bytes.
        wording: The prompt.
    """

    image: Chosen
    wording: Wording
    reason: Reason


@dataclass(frozen=True)
class Refusal:
    """The call may not leave; ``why`` follows its name, and holds nothing private and nothing of the provider's."""

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
    """The facts of a run's record that decide which calls may leave next.

    It registers outputs and receipts. It trusts its caller: the gate reports receipts that the ledger has
    committed; a page reports those in a record, which may be forged.
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

        An answer out of turn cannot advance the run, nor change an earlier answer. Its outputs are registered
        all the same, so that a record with a gap can still be explained after the gap.

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
        # Only an answer in its turn counts: a record with a gap explains what follows but does not let the
        # run go on.
        if due:
            self._answered.add(slot)
        self._advance(self._first)

    def note_held(self, slot: str) -> None:
        """Note that a call brought nothing: it counts as unanswered, and later calls need not wait for it."""
        self._held.add(slot)
        self._advance(self._first)

    def forget_held(self) -> None:
        """Note that calls which brought nothing are sent again, each in its turn."""
        self._held.clear()
        self._advance(0)

    def _advance(self, place: int) -> None:
        """Find the first call, from a place on, that later calls have to wait for."""
        settled = self._answered | self._held
        while place < len(self._calls) and self._calls[place].slot in settled:
            place += 1
        self._first = place

    def note_receipt(self, receipt: Receipt) -> None:
        """Register a receipt; of two for one iteration, which no honest record has, the later counts."""
        self._receipts[receipt.iteration] = receipt

    def note_leaving(self, call: Call) -> None:
        """Note that a call leaves; calls leave in the plan's order, whichever is answered first."""
        # Never back: a retry must not let a call behind it leave again for the first time.
        self._begun = max(self._begun, self._places[call.slot] + 1)

    def wording(self, candidate: str) -> Wording | None:
        """Return the prompt that made an image; None for the template, or an unknown image."""
        output = self._outputs.get(candidate)
        return None if output is None else output.wording

    def turn_of(self, call: Call) -> Refusal | None:
        """Return the refusal of a call that may not leave now, whatever it carries; None if it is its turn.

        It is the turn of the first unanswered call, and of later ones in the same round up to the plan's
        ``at_once`` images together: their content was settled before the first left. The order in which they
        first leave reveals nothing, because it is the plan's.
        """
        # The whole call is compared, not its slot: one with the right name and another prompt or parent is
        # another call.
        if self.plan.calls.get(call.slot) != call:
            return Refusal("is not in the public plan")
        if self.has_answer(call):
            return Refusal("is asked again after it was answered")
        return None if self._is_due(call) else Refusal("is out of order")

    def has_answer(self, call: Call) -> bool:
        """True if a call of the plan was answered in its turn; it never leaves again."""
        return self.plan.calls.get(call.slot) == call and call.slot in self._answered

    def _is_due(self, call: Call) -> bool:
        """True if a call of the plan may be in flight now."""
        if call.slot in self._answered or (call.slot not in self._held and self._first == len(self._calls)):
            return False
        if call.slot in self._held:
            return True
        place, first = self._places[call.slot], self._calls[self._first]
        # Not beyond the round: the next round's calls depend on a selection that waits for these answers.
        of_its_round = (call.iteration, call.purpose) == (first.iteration, first.purpose)
        asked = self._before[place + 1] - self._before[self._first]
        # In the plan's order: a free choice of which leaves first could carry a bit.
        in_order = place <= max(self._begun, self._first)
        return place == self._first or (of_its_round and in_order and asked <= self.plan.provider.at_once)

    def image_of(self, call: Call) -> Verdict:
        """Return the verdict on a call's image, whether or not it is its turn, as needed for past records."""
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
        # A receipt of another run of the same ledger was also paid for, but for other candidates.
        if receipt.run_id != self.plan.run_id:
            return Refusal("has a receipt of another run")
        named = chosen[call.parent]
        output = self._outputs.get(named.id)
        if output is None or output.digest != named.digest:
            return Refusal("has a receipt that names an image that is not what the API sent")
        if output.label != call.label:
            return Refusal("has a receipt that names an image of another class")
        # Iterations grow: a receipt cannot have chosen a later candidate.
        if output.iteration >= receipt.iteration:
            return Refusal("has a receipt that names an image of no earlier iteration")
        return self._or_its_prompt(call, named, output, ReceiptChose(receipt))

    def _or_its_prompt(self, call: Call, image: Chosen, output: _Output, reason: Reason) -> Verdict:
        """Return the image, or the prompt in its place in a plan that varies by prompt."""
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
