"""What a method is: public facts that the plan, the judge and the printed guarantee are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..budget.accounting import per_query
from ..budget.mechanisms import ExponentialMechanism, UniformChoice

Utility = Literal["pcevolve"]
ALL_NEEDS = frozenset({"create", "vary", "strength", "seed", "steps"})


@dataclass(frozen=True)
class Method:
    """A way to choose prototypes.

    Attributes:
        name: What ``--method`` calls it.
        summary: One line for help, manifest and report.
        guarantee: What it promises, in words, under both neighbour relations.
        mechanism: Makes the mechanism that draws prototypes.
        utility: Which utility the private side computes; None when private data are not looked at.
        iterations: Default T; 0 for methods without evolution.
        needs: Capabilities that the dialect must have.
    """

    name: str
    summary: str
    guarantee: str
    mechanism: Callable[[], ExponentialMechanism | UniformChoice]
    utility: Utility | None
    iterations: int
    needs: frozenset[str] = ALL_NEEDS

    def query_cost(self, total: Fraction, iterations: int, classes: int) -> Fraction:
        """Pure-DP cost of one draw; 0 for a method that does not look at private data."""
        if self.utility is None or iterations == 0:
            return Fraction(0)
        return per_query(total, iterations, classes)


def annealed(iterations: int, start: float, step: float, floor: float) -> tuple[float, ...]:
    """Image-to-image strength of each iteration: ``start``, less ``step`` each time, not below ``floor``."""
    return tuple(round(max(floor, start - step * t), 6) for t in range(iterations))
