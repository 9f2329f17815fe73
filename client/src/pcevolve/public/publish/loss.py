"""The ε of a run for everyone who may be in the private folder. No other module computes this ε or puts it into words.

With ``data.subsample``, the private data are drawn from a folder, and one unit of the folder changes up to two
units of the draw. A person in the folder does not know whether they were drawn. The ε for units of the folder
is therefore stated first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isfinite
from typing import Any, Self

from pcevolve.public.figures import format_loss, in_full, spell_count
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event


@dataclass(frozen=True)
class PrivacyLoss:
    """Privacy loss of events at a run's δ.

    Attributes:
        epsilon: ε for every unit of the folder, drawn or not; may be infinite.
        drawn: ε for a unit that was drawn, which ``--epsilon`` limits; None if the whole folder is used.
        unit: The privacy unit, in words.
    """

    epsilon: float
    drawn: float | None
    unit: str

    @classmethod
    def of(cls, plan: PublicPlan, events: Iterable[Event]) -> Self:
        """Compute the loss of a run's events for one unit of its folder."""
        from pcevolve.public.dp.accountants import epsilon  # deferred: NumPy is slow to import

        own = tuple(events)
        loss = epsilon(find_folder_events(plan, own), plan.privacy.delta)
        return cls(loss, None if plan.data.subsample is None else epsilon(own, plan.privacy.delta), plan.unit)

    @classmethod
    def read(cls, summary: Mapping[str, Any]) -> Self:
        """Read the loss from a summary."""
        return cls(summary["epsilon_spent"], summary.get("epsilon_drawn"), summary["unit"])

    def round_up(self, budget: Fraction) -> Self:
        """Round the loss to digits that are the same on all machines, because its last bits depend on the C library."""
        from pcevolve.public.dp.accountants import above

        def stated(loss: float) -> float:
            rounded = float(format_loss(loss, 10)) if isfinite(loss) else loss
            # A budget of 1/3 has no last decimal. Rounded up, a loss that meets the budget exactly would exceed it.
            return min(rounded, float(budget)) if loss <= above(budget) else rounded

        drawn = None if self.drawn is None else stated(self.drawn)
        return type(self)(stated(self.epsilon), drawn, self.unit)

    def say(self, budget: float | None = None, digits: int = 6, symbol: str = "epsilon ") -> str:
        """State the loss in words, with the budget if one is given."""
        of = "" if budget is None else f" of {budget:g}"
        if self.drawn is None:
            return f"{symbol}{format_loss(self.epsilon, digits)}{of}"
        return (
            f"{symbol}{format_loss(self.epsilon, digits)} for one {self.unit} of the whole folder "
            f"({format_loss(self.drawn, digits)}{of} for one that was drawn)"
        )


def find_folder_events(plan: PublicPlan, events: Iterable[Event]) -> tuple[Event, ...]:
    """Scale a run's events to their effect on one unit of the folder."""
    from pcevolve.public.dp.calibration import scale_to_folder

    return scale_to_folder(events, plan.data.subsample is not None)


def state_cumulative_loss(plan: PublicPlan, events: Iterable[Event]) -> str:
    """State the cumulative loss over all releases of a ledger; empty without earlier releases or guarantee.

    The sentence depends on public facts alone. Whether the releases share data is private, so the sentence is the
    same in either case. It states only the loss of a unit that is in all of the releases.
    """
    if not (plan.secure and plan.earlier.releases):
        return ""
    from pcevolve.public.dp.accountants import epsilon

    number = plan.earlier.releases
    runs = spell_count(number, "earlier run")
    began = "this run" if plan.start is None else "the run of the release that is varied"
    known = f"Before {began}, the ledger listed {runs}"
    if plan.earlier.events is None:
        return (
            f"{known}, some under a different neighbour relation or on units of a different kind. If one {plan.unit} "
            f"is in all of these runs, its total epsilon cannot be computed."
        )
    total = epsilon((*plan.earlier.events, *find_folder_events(plan, events)), plan.privacy.delta)
    bound = (
        f"its total epsilon is at most {format_loss(total)} (delta {in_full(plan.privacy.delta)})"
        if isfinite(total)
        else "no epsilon bounds its total loss"
    )
    # A run that was in progress when this run began may have spent more since.
    those = "that run" if number == 1 else "all of them"
    return f"{known}. If one {plan.unit} is in {those} and in this run, {bound}. Later runs are not counted."


ALARMS = 5
"""False-positive rate of the attacker in reports, in percent."""


def count_found_members(paid: Iterable[Event]) -> int:
    """Bound the attacker's true-positive rate for a unit with these events, in percent, rounded up."""
    from pcevolve.public.dp.attacks import most_true_positives

    return ceil(100 * most_true_positives(paid, ALARMS / 100))


def state_odds(paid: Iterable[Event]) -> str:
    """Return a clause on how well an attacker can detect whether a unit was used, given the events paid for it."""
    return f"at a {ALARMS} % false-positive rate, membership inference detects at most {count_found_members(paid)} %"
