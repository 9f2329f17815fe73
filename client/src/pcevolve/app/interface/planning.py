"""The cost of runs: ``plan``. No data are read, and nothing is spent.

>>> priced = plan("pe", epsilon=1, classes=4, shots=10, iterations=3)
>>> round(priced.noise_multiplier, 2), priced.epsilon_total <= 1
(6.46, True)
"""

from __future__ import annotations

from typing import Unpack

from pcevolve.app.first.pricing import PlannedRun, price, tabulate_plan
from pcevolve.app.interface.notebook import render_table
from pcevolve.app.interface.options import PlanOptions
from pcevolve.public.config.declared import validate
from pcevolve.public.config.options import AS_KEYWORDS, spell_as
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.selectors.planner import BudgetPlan


class PricedPlan(BudgetPlan):
    """The cost and the expected usefulness of a run; a notebook shows it as a table."""

    def __repr__(self) -> str:
        """Return one line: the cost and the verdict."""
        total = format_loss(self.epsilon_total, 4)
        return f"<Plan: {self.method}, epsilon {total} at delta {in_full(self.delta)}: {self.verdict}>"

    def _repr_html_(self) -> str:
        text = f"{self.method}: with this noise, the selection is {self.verdict}"
        return render_table(text, tabulate_plan(self))


def plan(method: str = "auto", **options: Unpack[PlanOptions]) -> PricedPlan:
    """Return the cost and expected usefulness of a run: ``pcevolve budget plan``. Nothing is read or spent.

    Args:
        method: A method's name, or ``auto``.
        options: Budget and public sizes of the run, which editors complete; see ``PlanOptions``.

    Returns:
        Cost and expected usefulness; ``reason`` tells why ``auto`` chose its method.

    Raises:
        UsageError: An option is unknown or out of bounds, or such a run is impossible.
    """
    with spell_as(AS_KEYWORDS):
        return PricedPlan(**vars(price(validate(PlannedRun, {"method": method, **options}))))
