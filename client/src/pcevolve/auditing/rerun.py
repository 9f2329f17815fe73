"""A run once more: ``evolve`` over the recorded answers, with a gate that compares and a judge that reads receipts.

What it verifies is the order of the record, every request byte for byte, what each answer brought, and that the plan's
releases were paid for as planned, once, and chose among what had come. It takes no receipt's word for its choices:
``selection`` derives them again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from pcevolve import selectors
from pcevolve.auditing.comparing import ComparingGate
from pcevolve.auditing.lines import UNREADABLE, OutOfPlaceError, RecordEndsError, describe
from pcevolve.dp.accountants import within
from pcevolve.evolution import Evolved, Pool, evolve
from pcevolve.modality.images.appearance import AS_IS, MATCHED, is_released
from pcevolve.providers import dialect
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.transcript import RunReader
from pcevolve.usability import Usability


def find_receipt_faults(receipt: Receipt, plan: PublicPlan) -> Iterator[str]:
    """Yield a receipt's own faults: it pays for what is planned, and says no more than a receipt may."""
    if (receipt.run_id, receipt.relation) != (plan.run_id, plan.relation):
        yield "for another run or relation"
    if receipt.events != selectors.find_method(plan.method).plan_events(plan).get(receipt.iteration):
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
    """True if a receipt names as many of each class as the plan wants, class by class."""
    wanted = plan.wanted(receipt.iteration)
    due = [(label, wanted) for label in plan.labels if wanted]
    return [(each.label, len(each.chosen)) for each in receipt.choices] == due


def _may_say(plan: PublicPlan, receipt: Receipt) -> bool:
    """True if the numbers of a receipt for prototypes are of those that the plan leaves open, in their number."""
    if plan.class_counts and receipt.iteration == 1:
        return len(receipt.values) == len(plan.labels) and all(map(math.isfinite, receipt.values))
    settled = (AS_IS, MATCHED) if plan.appearance == "auto" else ((),)
    return str(receipt.values) in map(str, settled)  # -0.0 equals 0.0


@dataclass
class Rerun:
    """The outcome of running a record again.

    Attributes:
        pools: What each release chose from, by its iteration, as far as the record goes.
        evolved: What came out; None where the record ends, or breaks, before the run does.
        requests: What is wrong with the order of lines, or with a request, each with its line.
        unusable: Releases, or a dataset, of candidates among which the plan's rule leaves nothing to choose.
    """

    run: RunReader
    pools: dict[int, Pool] = field(default_factory=dict)
    evolved: Evolved | None = None
    requests: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunReader) -> Rerun:
        """Run a whole record again; what is wrong with it is noted, never raised."""
        again = cls(run)
        try:
            again._carry_out()
        except RecordEndsError:
            pass
        except (OutOfPlaceError, *UNREADABLE) as error:
            again.requests.append(describe(error))
        return again

    def generated(self, call: Call) -> None:
        """Nobody waits for progress."""

    def released(self, receipt: Receipt) -> None:
        """Nobody waits for progress."""

    def _carry_out(self) -> None:
        run, plan = self.run, self.run.plan
        gate = ComparingGate(run, dialect(run.opened.dialect), plan, self.requests)
        gate.begin()
        if plan is None:
            return
        usability = Usability(plan, run.bodies.file)
        evolved = evolve(plan, gate, _RecordedReceipts(gate, plan, usability, self), self)
        gate.finish()
        if not plan.selects and (fault := usability.fault(Pool(evolved.populations[-1]), is_dataset=True)):
            self.unusable.append(f"the dataset: {fault}")
        if not within([event for each in evolved.receipts for event in each.events], plan.budget):
            self.receipts.append(
                f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"
            )
        self.evolved = evolved


@dataclass(frozen=True)
class _RecordedReceipts:
    """A judge whose receipts are those on record."""

    gate: ComparingGate
    plan: PublicPlan
    usability: Usability
    told: Rerun

    def show(self, query: Query, pool: Pool) -> None:
        """Keep what the release chooses from."""
        self.told.pools[query.iteration] = pool

    def release(self, query: Query, pool: Pool) -> Receipt:
        """The receipt on record.

        Raises:
            OutOfPlaceError: There is another line.
            RecordEndsError: It names what it could not choose, and nothing follows from that.
        """
        receipt = self.gate.take_receipt(query.iteration)
        where = f"receipt for iteration {query.iteration}"
        unknown = list(_unknown(receipt, pool))
        faults = [*find_receipt_faults(receipt, self.plan), *unknown]
        self.told.receipts.extend(f"{where}: {each}" for each in faults)
        if fault := self.usability.fault(pool):
            self.told.unusable.append(f"{where}: {fault}")
        if unknown or not names_as_planned(receipt, self.plan):
            raise RecordEndsError
        return receipt


def _unknown(receipt: Receipt, pool: Pool) -> Iterator[str]:
    """Classes for which a receipt names what it did not choose from."""
    for each in receipt.choices:
        known = {(one.id, one.digest) for one in pool.candidates.get(each.label, ())}
        if not known.issuperset((one.id, one.digest) for one in each.chosen):
            yield f"names an image that is not among those it chose from, for {each.label!a}"
