"""ε of a run: computed and worded here alone, for everybody who may have been in the private folder.

With ``data.subsample`` the private data are drawn from a folder, and one unit of the folder changes up to two units of
the draw. Who is in the folder does not know whether he was drawn, so the figure that holds for him stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isfinite
from typing import Any, Self

from pcevolve.dp.accountants import above, epsilon
from pcevolve.dp.attacks import most_true_positives
from pcevolve.dp.calibration import scale_to_folder
from pcevolve.privacy import Event
from pcevolve.public.figures import format_loss
from pcevolve.public.plan import PublicPlan


@dataclass(frozen=True)
class Loss:
    """Privacy loss of events at a run's δ.

    Attributes:
        epsilon: ε for every unit of the folder, whether it was drawn or not; it may be infinite.
        drawn: ε for a unit that was drawn, to which ``--epsilon`` is the limit; None where all of the folder is used.
        unit: What a unit is.
    """

    epsilon: float
    drawn: float | None
    unit: str

    @classmethod
    def of(cls, plan: PublicPlan, events: Iterable[Event]) -> Self:
        """Price events that a run has on its units, for a unit of its folder."""
        own = tuple(events)
        loss = epsilon(find_folder_events(plan, own), plan.delta)
        return cls(loss, None if plan.subsample is None else epsilon(own, plan.delta), plan.unit)

    @classmethod
    def read(cls, summary: Mapping[str, Any]) -> Self:
        """The loss that a summary states; it states one."""
        return cls(summary["epsilon_spent"], summary.get("epsilon_drawn"), summary["unit"])

    def round_up(self, budget: Fraction) -> Self:
        """Return the loss in digits on which all machines agree: last bits are the C library's."""

        def stated(loss: float) -> float:
            rounded = float(format_loss(loss, 10)) if isfinite(loss) else loss
            # A third has no last digit: rounded up it would be above the budget that it was held to exactly.
            return min(rounded, float(budget)) if loss <= above(budget) else rounded

        drawn = None if self.drawn is None else stated(self.drawn)
        return type(self)(stated(self.epsilon), drawn, self.unit)

    def say(self, budget: float | None = None, digits: int = 6, symbol: str = "epsilon ") -> str:
        """Say the loss and, with a budget, of how much that is."""
        of = "" if budget is None else f" of {budget:g}"
        if self.drawn is None:
            return f"{symbol}{format_loss(self.epsilon, digits)}{of}"
        return (
            f"{symbol}{format_loss(self.epsilon, digits)} for one {self.unit} of the whole folder "
            f"({format_loss(self.drawn, digits)}{of} for one that was drawn)"
        )


def find_folder_events(plan: PublicPlan, events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events of a run on its units as one unit of the folder bears them."""
    return scale_to_folder(events, plan.subsample is not None)


ALARMS = 5
"""In how many of 100 an attacker may take a unit for used that was not."""


def count_found_members(paid: Iterable[Event]) -> int:
    """In how many of 100 an attacker can be right about a unit that bears these events, rounded up: it is a bound."""
    return ceil(100 * most_true_positives(paid, ALARMS / 100))
