"""Run a record again: ``evolve`` over the recorded answers, with a gate that compares and a judge that reads receipts.

The rerun verifies the order of the record, every request byte for byte, and each answer's outputs. It also verifies
that each release was paid for once, as planned, and chose among the candidates on record. Choices in receipts are
not trusted, because a choice that does not follow from the measurement could reveal anything about the private
images. Choices are therefore derived again from the measurement and the provider's images. This needs the encoder
and its weights, which are public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from safetensors import SafetensorError
from safetensors.numpy import load as parsed
from safetensors.numpy import save

from pcevolve.auditing.comparing import ComparingGate
from pcevolve.auditing.lines import UNREADABLE, KeyLength, OutOfPlaceError, RecordEndsError, describe
from pcevolve.errors import ClientError, ModelError
from pcevolve.public import selectors
from pcevolve.public.calls import Call
from pcevolve.public.dp.accountants import within
from pcevolve.public.encoders import Encoder, load_encoder, shipped_digest, weights_digest
from pcevolve.public.loop.evolution import Evolved, evolve, pool_last
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.media.images.appearance import AS_IS, MATCHED, is_released
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.public.selectors import Measurement
from pcevolve.public.selectors.choosing import Chooser, choose_renditions, find_frame
from pcevolve.public.selectors.selection import join_renditions
from pcevolve.public.selectors.usefulness import Figures, find_figures
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease
from pcevolve.wire.providers import dialect


def find_receipt_faults(receipt: Receipt, plan: PublicPlan) -> Iterator[str]:
    """Yield a receipt's own faults. It must pay for the planned release, and hold only values that the plan allows."""
    if (receipt.run_id, receipt.relation) != (plan.run_id, plan.privacy.relation):
        yield "for another run or relation"
    if receipt.events != selectors.find_method(plan.method.name).plan_events(plan).get(receipt.iteration):
        yield "not the planned price or mechanism"
    if not names_as_planned(receipt, plan):
        yield "names other classes or numbers of prototypes than the plan"
    if receipt.iteration and not _may_say(plan, receipt):
        yield "says something that the plan does not leave open"
    if not receipt.iteration and not is_released(receipt.values):
        yield "its numbers are none that a release of the appearance gives"
    paid = bool(receipt.iteration) and not all(event.free for event in receipt.events)
    if paid != bool(receipt.measured):
        yield "does not say what was measured" if paid else "names a measurement that nobody paid for"


def names_as_planned(receipt: Receipt, plan: PublicPlan) -> bool:
    """True if a receipt names the planned number of candidates of each class, in the plan's order of classes."""
    wanted = plan.wanted(receipt.iteration)
    due = [(label, wanted) for label in plan.labels if wanted]
    return [(each.label, len(each.chosen)) for each in receipt.choices] == due


def _may_say(plan: PublicPlan, receipt: Receipt) -> bool:
    """True if a receipt for prototypes has as many values as the plan allows, of the kind that the plan allows."""
    if plan.class_counts and receipt.iteration == 1:
        return len(receipt.values) == len(plan.labels) and all(map(math.isfinite, receipt.values))
    settled = (AS_IS, MATCHED) if plan.method.appearance == "auto" else ((),)
    return str(receipt.values) in map(str, settled)  # as strings, because -0.0 equals 0.0


@dataclass
class Rerun:
    """The outcome of running a record again.

    Attributes:
        pools: The pool of each release, by iteration, up to the end of the record.
        evolved: The run's outcome; None if the record ends or breaks before the run does.
        requests: Faults of a request, or of the lines' order, each with its line.
        unusable: Releases, or a dataset, for which too few candidates are usable by the plan's rule.
        key: The length of the provider's key in the requests.
    """

    run: RunReader
    pools: dict[int, Pool] = field(default_factory=dict)
    evolved: Evolved | None = None
    requests: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    key: KeyLength = field(default_factory=KeyLength)

    @classmethod
    def of(cls, run: RunReader) -> Rerun:
        """Run a complete record again. Faults are noted, never raised."""
        again = cls(run)
        try:
            again._carry_out()
        except RecordEndsError:
            pass
        except (OutOfPlaceError, *UNREADABLE) as error:
            again.requests.append(describe(error))
        return again

    def generated(self, call: Call) -> None:
        """Ignore the call, because a rerun reports no progress."""

    def released(self, receipt: Receipt) -> None:
        """Ignore the receipt, because a rerun reports no progress."""

    def _carry_out(self) -> None:
        run, plan = self.run, self.run.plan
        gate = ComparingGate(run, dialect(run.opened.dialect), plan, self.requests)
        self.key = gate.key
        gate.begin()
        if plan is None:
            return
        usability = Usability(plan, run.bodies.file)
        judge = _RecordedReceipts(gate, plan, usability, self)
        evolved = evolve(plan, gate, judge, self, usability.identify, usability.is_enough)
        if evolved.ended_by is not None and isinstance(more := gate.lines.next(), RecordedRelease):
            where = f"receipt for iteration {more.receipt.iteration}"
            self.unusable.append(f"{where}: {usability.fault(evolved.ended_by)}")
        gate.finish()
        last = pool_last(plan, evolved, usability.identify)
        if not plan.releases and (fault := usability.fault(last, is_dataset=True)):
            self.unusable.append(f"the dataset: {fault}")
        if not within(run.events, plan.budget):
            self.receipts.append(
                f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"
            )
        self.evolved = evolved


@dataclass(frozen=True)
class _RecordedReceipts:
    """A judge that returns the recorded receipts."""

    gate: ComparingGate
    plan: PublicPlan
    usability: Usability
    result: Rerun

    def show(self, query: Query, pool: Pool) -> None:
        """Store the pool that the release chooses from."""
        self.result.pools[query.iteration] = pool

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Return the recorded receipt.

        Raises:
            OutOfPlaceError: Another line is in its place.
            RecordEndsError: The receipt names a candidate that it could not choose, so the rest of the record is
                meaningless.
        """
        receipt = self.gate.take_receipt(query.iteration)
        where = f"receipt for iteration {query.iteration}"
        unknown = list(_unknown(receipt, pool))
        faults = [*find_receipt_faults(receipt, self.plan), *unknown]
        self.result.receipts.extend(f"{where}: {each}" for each in faults)
        # A last release over all rounds selects the dataset even if the newest round brought too little.
        ends = query.iteration > self.plan.method.iterations > 0 and self.plan.method.pool == "all"
        if not ends and (fault := self.usability.fault(pool)):
            self.result.unusable.append(f"{where}: {fault}")
        if unknown or not names_as_planned(receipt, self.plan):
            raise RecordEndsError
        return receipt


def _unknown(receipt: Receipt, pool: Pool) -> Iterator[str]:
    """Yield classes for which a receipt names a candidate outside its pool."""
    for each in receipt.choices:
        known = {(one.id, one.digest) for one in pool.candidates.get(each.label, ())}
        if not known.issuperset((one.id, one.digest) for one in each.chosen):
            yield f"names an image that is not among those it chose from, for {each.label!a}"


LoadEncoder = Callable[[PublicPlan], Encoder]
"""Loads the encoder that a plan names; raises a ``ClientError`` if it is unavailable."""


def find_encoder(plan: PublicPlan, weights: str | None = None) -> Encoder:
    """Load the encoder that a plan names, and check that its weights and public frame are those that judged the run.

    ``weights`` is the owner's file of weights, if any.

    Raises:
        ModelError: Weights or frame are missing, or not those of the run; the message names them.
    """
    encoder = _with_weights(plan, weights)
    # Check the frame too, because the same weights in another frame would choose differently.
    find_frame(plan, encoder)
    return encoder


def _with_weights(plan: PublicPlan, weights: str | None) -> Encoder:
    ours = shipped_digest(plan.encoder.name)
    if plan.encoder.weights == ours:
        return load_encoder(plan.encoder.name)
    if weights is not None and weights_digest(weights) == plan.encoder.weights:
        return load_encoder(plan.encoder.name, weights)
    raise ModelError(
        f"the run was judged by weights of encoder {plan.encoder.name} with sha256 "
        f"{plan.encoder.weights or 'unknown'}: give --encoder-weights FILE with them{_of_other_versions(plan)}"
    )


def _of_other_versions(plan: PublicPlan) -> str:
    """Return advice for a bundled encoder, whose weights may come from another version of the client."""
    ours = shipped_digest(plan.encoder.name)
    return (
        "" if ours is None else f", or audit with the version of pcevolve that has them (this one has {ours})"
    )


@dataclass
class Selections:
    """All choices of a run."""

    run: RunReader
    again: Rerun
    load: LoadEncoder

    def why_unchecked(self) -> str:
        """Return why choices cannot be checked, such as an unavailable encoder; empty if they can."""
        try:
            _ = self._chooser
        except ModelError as error:
            return str(error)
        except ClientError:  # ``faults`` reports a meaningless record
            return ""
        return ""

    def faults(self) -> Iterator[str]:
        """Yield receipts whose choices do not follow from the measurement (``ModelError`` without weights)."""
        chooser, broken = self._chooser, False
        if chooser is not None:
            asked = [each for each in self.run.receipts if each.iteration]
            for fault in self._derive(chooser.plan, chooser, asked):
                broken = True
                yield fault
        # An invalid measurement makes the rest meaningless, and a run in progress has no closing line to check.
        if not broken and self.run.finished:
            yield from self._check_assessment(chooser)

    @cached_property
    def _chooser(self) -> Chooser | None:
        """The chooser with the run's encoder; None if the method never embeds private data."""
        plan = self.run.plan
        if plan is None or not selectors.find_method(plan.method.name).queries_data:
            return None
        selector = selectors.find_method(plan.method.name).make_selector()
        return Chooser(plan, self.load(plan), self.run.bodies.file, selector)

    def _derive(self, plan: PublicPlan, chooser: Chooser, receipts: list[Receipt]) -> Iterator[str]:
        """Derive the receipts' choices in order.

        A choice without a measurement follows from the last measurement before it.
        """
        looks = choose_renditions(
            plan, next((each for each in self.run.receipts if not each.iteration), None)
        )
        measured: Measurement | None = None
        for receipt in receipts:
            where = f"receipt for iteration {receipt.iteration}"
            pool = self.again.pools.get(receipt.iteration)
            if pool is None:  # the record breaks off earlier, which another finding reports
                return
            all_inputs = chooser.find_inputs(receipt.iteration, pool, looks)
            if receipt.measured:
                measured = self._decode(receipt.measured)
                shown = join_renditions(all_inputs)
                if measured is None or not chooser.selector.could_measure(measured, shown, receipt.events):
                    yield f"{where}: what was measured has not the form that its method gives"
                    return
            if measured is None or not chooser.follows(measured, all_inputs, pool, receipt):
                yield f"{where}: its choices do not follow from what was measured"

    def _check_assessment(self, chooser: Chooser | None) -> Iterator[str]:
        """Check that the assessment in the closing line follows from the releases."""
        found = None if chooser is None else self._find_figures(chooser)
        recorded = self.run.assessment
        follows = (
            recorded is None if found is None else recorded is not None and found.could_round_to(recorded)
        )
        if not follows:
            where = f"line {len(self.run.entries)}"
            yield f"{where}: what it says of the dataset's use does not follow from what was released"

    def _find_figures(self, chooser: Chooser) -> Figures | None:
        evolved, again = self.again.evolved, self.again
        if evolved is None:
            return None
        stored = self.run.bodies.file
        return find_figures(chooser, self.run.receipts, again.pools.__getitem__, evolved.dataset, stored)

    def _decode(self, digest: str) -> Measurement | None:
        """Decode a measurement in its canonical encoding; None for any other bytes."""
        data = self.run.bodies.file(digest)
        try:
            found = parsed(data)
        except (SafetensorError, ValueError, KeyError):
            return None
        # Encode again and compare, because a comment or another order of arrays would carry more than the numbers.
        return found if save(dict(found)) == data else None
