"""Prices of runs: ``plan``. Nothing is read and nothing spent."""

from __future__ import annotations

from typing import Unpack

from pcevolve.app.first.pricing import PlannedRun, price, tabulate_plan
from pcevolve.app.interface.options import PlanOptions
from pcevolve.public.declared import validate
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.pages.notebook import render_table
from pcevolve.public.selectors.planner import BudgetPlan


class PricedPlan(BudgetPlan):
    """The price and the worth of a run, which a notebook shows as a table."""

    def __repr__(self) -> str:
        """One line: what it costs and whether it is worth that."""
        total = format_loss(self.epsilon_total, 4)
        return f"<Plan: {self.method}, epsilon {total} at delta {in_full(self.delta)}: {self.verdict}>"

    def _repr_html_(self) -> str:
        said = f"{self.method}: selection against noise is {self.verdict}"
        return render_table(said, tabulate_plan(self))


def plan(method: str = "auto", **options: Unpack[PlanOptions]) -> PricedPlan:
    """Price a run and say what it would be worth: ``pcevolve budget plan``. Nothing is read and nothing spent.

    Args:
        method: Which method, or ``auto``.
        options: Budget and public sizes of the run, which editors complete; see ``PlanOptions``.

    Returns:
        Price and worth; ``reason`` says why ``auto`` chose its method.

    Raises:
        UsageError: An option is unknown or out of bounds, or such a run cannot be.
    """
    with spell_as(AS_KEYWORDS):
        return PricedPlan(**vars(price(validate(PlannedRun, {"method": method, **options}))))
