"""What a method is: public facts that the plan, the judge and the printed guarantee are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..budget.calibration import Scope
from ..errors import UsageError
from ..privacy import Budget, Event

Calibration = Literal["tight", "published"]
SelectorName = Literal[
    "contrastive",
    "filter",
    "unfiltered",
    "plain-distance",
    "noisy-argmax",
    "votes",
    "votes-em",
    "joint",
    "means",
]
Rounds: TypeAlias = tuple[tuple[Event, ...], ...]
"""Events of each round 1..T; a round is one transaction for all classes."""
Spending: TypeAlias = Callable[[Budget, Scope], Rounds]
Schedule: TypeAlias = Callable[[int], tuple[float, ...]]

ALL_NEEDS = frozenset({"create", "vary", "strength", "seed", "steps"})


def annealed(start: float, step: float, floor: float) -> Schedule:
    """Image-to-image strength: ``start``, less ``step`` each iteration, not below ``floor`` (PCEvolve)."""
    return lambda iterations: tuple(round(max(floor, start - step * t), 6) for t in range(iterations))


def linear(start: float, end: float) -> Schedule:
    """Image-to-image strength from ``start`` in the first iteration to ``end`` in the last (PE, JVEM)."""

    def schedule(iterations: int) -> tuple[float, ...]:
        steps = max(iterations - 1, 1)
        return tuple(round(start + (end - start) * t / steps, 6) for t in range(iterations))

    return schedule


def always(iterations: int) -> Callable[[Budget, Scope], int]:
    """The same number of iterations whatever the budget."""
    return lambda budget, scope: iterations


@dataclass(frozen=True)
class Method:
    """A way to choose prototypes.

    Attributes:
        name: What ``--method`` calls it.
        summary: One line for help, manifest and report.
        guarantee: What it promises, in words, under both neighbour relations.
        selector: How the private side scores candidates; None when private data are not looked at.
        spending: Events of each round for a budget, calibrated as tightly as the accountants allow.
        lift: Probability that a chosen prototype is of the best tenth, under an ideal utility; 0.1 is luck.
        published: The paper's own, looser calibration, where there is one.
        rounds: Default number of iterations T; 0 for methods without evolution.
        delta: Default δ.
        prototypes: Default prototypes per class and round; None for as many as candidates.
        schedule: Default strengths.
        initial: Text-to-image candidates, in multiples of the dataset's size.
        pool: Whether earlier generations may be chosen.
        keep: Whether the dataset is the last population or selected from all.
        threshold: Default H, subtracted from noisy votes.
        needs: Capabilities that the dialect must have.
    """

    name: str
    summary: str
    guarantee: str
    selector: SelectorName | None
    spending: Spending
    lift: Callable[[tuple[Event, ...], Scope], float]
    published: Spending | None = None
    rounds: Callable[[Budget, Scope], int] = always(20)
    delta: float = 0.0
    prototypes: int | None = 1
    schedule: Schedule = annealed(0.8, 0.02, 0.6)
    initial: int = 1
    pool: Literal["latest", "all"] = "latest"
    keep: Literal["last", "selected"] = "last"
    threshold: float = 0.0
    needs: frozenset[str] = ALL_NEEDS

    def events(self, budget: Budget, scope: Scope, calibration: Calibration = "tight") -> Rounds:
        """What each round does to the private data.

        Raises:
            UsageError: The method has no published calibration, or needs a δ.
        """
        if calibration == "tight":
            return self.spending(budget, scope)
        if self.published is None:
            raise UsageError(f"method '{self.name}' has only one calibration: leave --calibration out")
        return self.published(budget, scope)
