"""Checks that receipts pay for every release, once, at the planned price, and say nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pcevolve import selectors
from pcevolve.modality.images.appearance import AS_IS, MATCHED, is_released
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt


def receipt_faults(receipt: Receipt, plan: PublicPlan) -> Iterator[str]:
    """Yield a receipt's own faults: it pays for what is planned, and says no more than a receipt may."""
    if (receipt.run_id, receipt.relation) != (plan.run_id, plan.relation):
        yield "for another run or relation"
    if receipt.events != selectors.method(plan.method).planned(plan).get(receipt.iteration):
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
