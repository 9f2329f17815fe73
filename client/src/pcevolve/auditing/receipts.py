"""Checks that receipts pay for every release, once, at the planned price, and say nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pcevolve import methods
from pcevolve.auditing.populations import Populations
from pcevolve.dp.accountants import within
from pcevolve.modality.images.appearance import AS_IS, MATCHED, is_released
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen, Receipt
from pcevolve.transcript import RunReader


def receipt_faults(run: RunReader) -> Iterator[str]:
    """Receipts that do not pay for what the plan plans, or say more than a receipt may."""
    plan = run.plan
    if plan is None:
        return
    yield from _prices(run, plan)
    events = [event for receipt in run.receipts for event in receipt.events]
    if not within(events, plan.budget):
        yield f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"


def _prices(run: RunReader, plan: PublicPlan) -> Iterator[str]:
    """What is wrong with each receipt by itself, and with their number."""
    expected = methods.method(plan.method).planned(plan)
    seen: set[int] = set()
    for receipt in run.receipts:
        where = f"receipt for iteration {receipt.iteration}"
        if (receipt.run_id, receipt.relation) != (plan.run_id, plan.relation):
            yield f"{where}: for another run or relation"
        if receipt.events != expected.get(receipt.iteration):
            yield f"{where}: not the planned price or mechanism"
        wanted = plan.wanted(receipt.iteration)
        due = [(label, wanted) for label in plan.labels if wanted]
        if [(each.label, len(each.chosen)) for each in receipt.choices] != due:
            yield f"{where}: names other classes or numbers of prototypes than the plan"
        yield from (f"{where}: {fault}" for fault in _strangers(run, plan, receipt))
        if receipt.iteration and not _may_say(plan, receipt):
            yield f"{where}: says something that the plan does not leave open"
        if not receipt.iteration and not is_released(receipt.values):
            yield f"{where}: its numbers are none that a release of the appearance gives"
        paid = bool(receipt.iteration) and not all(event.free for event in receipt.events)
        if paid != bool(receipt.measured):
            said = "does not say what was measured" if paid else "names a measurement that nobody paid for"
            yield f"{where}: {said}"
        if receipt.iteration in seen:
            yield f"{where}: drawn twice"
        seen.add(receipt.iteration)
    if run.finished and seen != set(expected):
        yield f"{len(seen)} rounds have receipts where the plan has {len(expected)}"


def _strangers(run: RunReader, plan: PublicPlan, receipt: Receipt) -> Iterator[str]:
    """Names of no candidate that a receipt chose from; for a method that measures nothing there is no other check."""
    pool = Populations(plan, run.outputs).pool(receipt.iteration).candidates
    for choice in receipt.choices:
        known = {Chosen(each.id, each.digest) for each in pool.get(choice.label, ())}
        if not known.issuperset(choice.chosen):
            yield f"names an image that is not among those it chose from, for {choice.label!a}"


def _may_say(plan: PublicPlan, receipt: Receipt) -> bool:
    """Whether the numbers of a receipt for prototypes are of those that the plan leaves open, in their number."""
    if plan.class_counts and receipt.iteration == 1:
        return len(receipt.values) == len(plan.labels) and all(map(math.isfinite, receipt.values))
    settled = (AS_IS, MATCHED) if plan.appearance == "auto" else ((),)
    return str(receipt.values) in map(str, settled)  # -0.0 equals 0.0
