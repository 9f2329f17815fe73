"""The origin of each image that left, and the reason for it: the rulebook, asked again along a record.

Nothing is judged here: the audit's findings do that. Where the record gives no reason, there is none to show. Traffic
is counted here too, for what went back in a question counts as an image does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt, list_start
from pcevolve.public.rules import ItsPrompt, OneImage, Reason, ReceiptChose, RunState
from pcevolve.public.transcript.traffic import (
    ALL_KINDS,
    Arrival,
    Attempt,
    Counts,
    RecordedOutputs,
    RecordedReceipt,
    Traffic,
)


@dataclass(frozen=True)
class ImageOrigin:
    """The attempt whose answer brought an image, and the image's name if it has one.

    An image of the release that a run starts from has attempt 0, which there is not.
    """

    digest: str
    attempt: int
    slot: str
    id: str | None = None


@dataclass(frozen=True)
class CarriedImage:
    """An image that left, and why.

    Attributes:
        origin: Where it came from; None when no answer on record had brought it.
        reason: Why this very request could carry it; None when the record gives no reason.
    """

    digest: str
    origin: ImageOrigin | None
    reason: Reason | None = None

    @property
    def explained(self) -> bool:
        """True if a receipt or the plan names it, and the provider had made it."""
        return self.origin is not None and self.reason is not None

    @property
    def receipt(self) -> Receipt | None:
        """The release that chose it; None where the plan itself names it, or nothing does."""
        return self.reason.receipt if isinstance(self.reason, ReceiptChose) else None


@dataclass(frozen=True)
class ToldPrompt:
    """The prompt of an image that left in the image's place, and why.

    Attributes:
        prompt: The plan's prompt by which it had been made.
    """

    origin: ImageOrigin
    prompt: str
    reason: Reason

    @property
    def receipt(self) -> Receipt | None:
        """The release that chose the image; None where the plan itself names it."""
        return self.reason.receipt if isinstance(self.reason, ReceiptChose) else None


@dataclass
class Reasons:
    """The images of a run's attempts, each attempt by its number."""

    carried: dict[int, tuple[CarriedImage, ...]] = field(default_factory=dict)
    told: dict[int, ToldPrompt] = field(default_factory=dict)
    brought: dict[int, tuple[ImageOrigin, ...]] = field(default_factory=dict)
    named: dict[str, ImageOrigin] = field(default_factory=dict)
    _arrived: dict[str, ImageOrigin] = field(default_factory=dict)

    @classmethod
    def of(cls, traffic: Traffic) -> Reasons:
        """Go along a record, asking before each request what it could carry at that time."""
        reasons = cls()
        state = None if traffic.plan is None else RunState(traffic.plan)
        for each in () if traffic.plan is None else chain(*list_start(traffic.plan).values()):
            reasons.named[each.id] = ImageOrigin(each.digest, 0, "", each.id)
        for step in traffic.steps:
            match step:
                case Attempt():
                    reasons._add(step, state)
                case Arrival(attempt=attempt):
                    reasons._take_in(attempt)
                case RecordedOutputs():
                    reasons._name(step, state)
                case RecordedReceipt(receipt=receipt) if state is not None:
                    state.note_receipt(receipt)
        return reasons

    @property
    def unexplained(self) -> int:
        """Count the images that left without a reason on record, each as often as it did."""
        return sum(not each.explained for images in self.carried.values() for each in images)

    @property
    def first_returns(self) -> dict[tuple[str | None, str], int]:
        """The first attempt that sent an image back, by the image's name and digest."""
        first: dict[tuple[str | None, str], int] = {}
        for number, images in self.carried.items():
            for each in images:
                if each.origin is not None:
                    first.setdefault((each.origin.id, each.digest), number)
        return first

    def counts(self, attempts: Iterable[Attempt]) -> Counts:
        """Add up some attempts; a text that went back in a question counts as an image does."""
        made = list(attempts)
        left = [each.digest for one in made for each in self.carried.get(one.number, ())]
        return replace(Counts.of(made), images=len(left), distinct=len(set(left)))

    def _add(self, attempt: Attempt, state: RunState | None) -> None:
        self.brought[attempt.number] = ()
        self.carried[attempt.number] = tuple(
            self._explain(attempt, digest, state) for digest in attempt.carried
        )
        call = attempt.own_call
        verdict = None if state is None or call is None else state.image_of(call)
        if state is not None and isinstance(verdict, OneImage) and state.plan.modality.sends_inline:
            # With blanks in place of some words: no file of it stands in the request.
            carried = CarriedImage(verdict.image.digest, self.named.get(verdict.image.id), verdict.reason)
            self.carried[attempt.number] = (carried,)
        if state is not None and call is not None and isinstance(verdict, ItsPrompt):
            told = verdict.wording
            prompt = "" if isinstance(told, str) else state.plan.prompt_of(replace(call, wording=told))
            self.told[attempt.number] = ToldPrompt(self.named[verdict.image.id], prompt, verdict.reason)

    def _explain(self, attempt: Attempt, digest: str, state: RunState | None) -> CarriedImage:
        """The reason for an image to leave with a request, as far as there is one on record by then."""
        call = attempt.own_call  # what only follows a link carries nothing
        verdict = None if state is None or call is None else state.image_of(call)
        if isinstance(verdict, OneImage) and verdict.image.digest == digest:
            origin = self.named.get(verdict.image.id)
            if origin is not None and origin.digest == digest:
                return CarriedImage(digest, origin, verdict.reason)
        return CarriedImage(digest, self._arrived.get(digest))

    def _take_in(self, attempt: Attempt) -> None:
        """Take note of the images in an answer, which have no names yet."""
        files = () if attempt.answer is None else attempt.answer.body.files
        self.brought[attempt.number] = tuple(
            ImageOrigin(each, attempt.number, attempt.sent.slot) for each in files
        )
        for each in self.brought[attempt.number]:
            self._arrived.setdefault(each.digest, each)

    def _name(self, outputs: RecordedOutputs, state: RunState | None) -> None:
        """Give what an answer brought its names."""
        last = outputs.attempt
        if last is None or last.call is None:
            return
        if state is not None:
            state.note_outputs(outputs.slot, outputs.digests)
        named = tuple(
            ImageOrigin(digest, last.number, outputs.slot, last.call.output(index))
            for index, digest in enumerate(outputs.digests)
        )
        self.brought[last.number] = named
        for each in named:
            self.named[each.id or ""] = each
            self._arrived.setdefault(each.digest, each)


@dataclass(frozen=True)
class TrafficTable:
    """The traffic of a run, counted.

    Attributes:
        unexplained: Images that left although the provider had not sent them, or neither a receipt nor the plan named
            them for that request.
        sent: Bytes sent by the end of each iteration.
    """

    kinds: dict[str, Counts]
    total: Counts
    unexplained: int
    sent: Sequence[int]
    received: Sequence[int]

    @classmethod
    def of(cls, traffic: Traffic, plan: PublicPlan) -> TrafficTable:
        """Add up a finished run's attempts, by kind, in all, and by iteration."""
        reasons = Reasons.of(traffic)
        counts = Counts.by_kind(traffic.attempts, reasons.counts)
        by_iteration = [Counts.of(group) for group in _by_iteration(traffic.attempts, plan.method.iterations)]
        return cls(
            kinds={kind: counts[kind] for kind in ALL_KINDS if kind in counts},
            total=reasons.counts(traffic.attempts),
            unexplained=reasons.unexplained,
            sent=list(accumulate(each.bytes_sent for each in by_iteration)),
            received=list(accumulate(each.bytes_received for each in by_iteration)),
        )


def _by_iteration(attempts: Iterable[Attempt], iterations: int) -> list[list[Attempt]]:
    """The attempts of each iteration; what comes before the first one counts as part of it."""
    groups: list[list[Attempt]] = [[] for _ in range(iterations + 1)]
    for each in attempts:
        groups[0 if each.call is None else min(each.call.iteration, iterations)].append(each)
    return groups
