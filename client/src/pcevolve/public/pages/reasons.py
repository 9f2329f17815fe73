"""Find the origin of each image that was sent, and the reason for sending it, by applying the rules along a record.

This module does not judge; the audit does. If the record gives no reason, no reason is shown. Traffic is counted
here too, because a text that was sent back inside a prompt counts like an image.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from pcevolve.public.loop.rules import ItsPrompt, OneImage, Reason, ReceiptChose, RunState
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt, list_start
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
    """The attempt whose answer brought an image, and the image's id if it has one.

    An image of the release that a run starts from has attempt 0; real attempts are numbered from 1.
    """

    digest: str
    attempt: int
    slot: str
    id: str | None = None


@dataclass(frozen=True)
class CarriedImage:
    """An image that was sent, and the reason.

    Attributes:
        origin: Its origin; None if no earlier answer on record contained it.
        reason: Why this request could carry it; None if the record gives no reason.
    """

    digest: str
    origin: ImageOrigin | None
    reason: Reason | None = None

    @property
    def explained(self) -> bool:
        """True if a receipt or the plan names the image, and the provider had made it."""
        return self.origin is not None and self.reason is not None

    @property
    def receipt(self) -> Receipt | None:
        """The release that chose the image; None if the plan itself names it, or nothing does."""
        return self.reason.receipt if isinstance(self.reason, ReceiptChose) else None


@dataclass(frozen=True)
class VariedPrompt:
    """The prompt that was sent in place of an image, and the reason.

    Attributes:
        prompt: The plan's prompt from which the image was made.
    """

    origin: ImageOrigin
    prompt: str
    reason: Reason

    @property
    def receipt(self) -> Receipt | None:
        """The release that chose the image; None if the plan itself names it."""
        return self.reason.receipt if isinstance(self.reason, ReceiptChose) else None


@dataclass
class Reasons:
    """The images that attempts sent and received, by the attempt's number."""

    carried: dict[int, tuple[CarriedImage, ...]] = field(default_factory=dict)
    prompts: dict[int, VariedPrompt] = field(default_factory=dict)
    brought: dict[int, tuple[ImageOrigin, ...]] = field(default_factory=dict)
    named: dict[str, ImageOrigin] = field(default_factory=dict)
    _arrived: dict[str, ImageOrigin] = field(default_factory=dict)

    @classmethod
    def of(cls, traffic: Traffic) -> Reasons:
        """Read a record in order, and determine which images each request could carry at that time."""
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
        """Number of images that were sent without a reason on record, with repetition."""
        return sum(not each.explained for images in self.carried.values() for each in images)

    @property
    def first_returns(self) -> dict[tuple[str | None, str], int]:
        """The first attempt that sent an image back, by the image's id and digest."""
        first: dict[tuple[str | None, str], int] = {}
        for number, images in self.carried.items():
            for each in images:
                if each.origin is not None:
                    first.setdefault((each.origin.id, each.digest), number)
        return first

    def counts(self, attempts: Iterable[Attempt]) -> Counts:
        """Return totals of some attempts. A text that was sent back inside a prompt counts as an image."""
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
            # A varied text is sent with some words blank, so its stored file is not part of the request.
            carried = CarriedImage(verdict.image.digest, self.named.get(verdict.image.id), verdict.reason)
            self.carried[attempt.number] = (carried,)
        if state is not None and call is not None and isinstance(verdict, ItsPrompt):
            wording = verdict.wording
            prompt = "" if isinstance(wording, str) else state.plan.prompt_of(replace(call, wording=wording))
            self.prompts[attempt.number] = VariedPrompt(self.named[verdict.image.id], prompt, verdict.reason)

    def _explain(self, attempt: Attempt, digest: str, state: RunState | None) -> CarriedImage:
        """Find the reason for sending an image with a request, among the records up to that request."""
        call = attempt.own_call  # a request for a link carries no image
        verdict = None if state is None or call is None else state.image_of(call)
        if isinstance(verdict, OneImage) and verdict.image.digest == digest:
            origin = self.named.get(verdict.image.id)
            if origin is not None and origin.digest == digest:
                return CarriedImage(digest, origin, verdict.reason)
        return CarriedImage(digest, self._arrived.get(digest))

    def _take_in(self, attempt: Attempt) -> None:
        """Register the images in an answer, which have no ids yet."""
        files = () if attempt.answer is None else attempt.answer.body.files
        self.brought[attempt.number] = tuple(
            ImageOrigin(each, attempt.number, attempt.sent.slot) for each in files
        )
        for each in self.brought[attempt.number]:
            self._arrived.setdefault(each.digest, each)

    def _name(self, outputs: RecordedOutputs, state: RunState | None) -> None:
        """Assign ids to the images of an answer."""
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
    """The counted traffic of a run.

    Attributes:
        unexplained: Number of images that the provider had not sent before, or that neither a receipt nor the plan
            named for their request.
        sent: Bytes sent by the end of each iteration.
    """

    kinds: dict[str, Counts]
    total: Counts
    unexplained: int
    sent: Sequence[int]
    received: Sequence[int]

    @classmethod
    def of(cls, traffic: Traffic, plan: PublicPlan) -> TrafficTable:
        """Return totals of a finished run's attempts: by kind, overall, and by iteration."""
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
    """Group attempts by iteration; attempts outside the plan's calls belong to the first group."""
    groups: list[list[Attempt]] = [[] for _ in range(iterations + 1)]
    for each in attempts:
        groups[0 if each.call is None else min(each.call.iteration, iterations)].append(each)
    return groups
