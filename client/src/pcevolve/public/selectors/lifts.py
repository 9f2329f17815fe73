"""What choices are worth, and luck, to which that is compared.

A lift is how likely a chosen prototype is of the best tenth, under a utility that no real one beats. Each family of
methods has its own ideal: all nominal shots agree on the best tenth of the candidates, and on nothing else.
"""

from __future__ import annotations

import math

from pcevolve.public.privacy import Event
from pcevolve.public.selectors.rounds import Scope


def best_tenth(candidates: int) -> int:
    """Return the number of candidates in the best tenth: at least one."""
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """A uniform draw: the best tenth's share of the candidates, 0.1 where ten divides them."""
    return best_tenth(scope.candidates) / scope.candidates


def drawn_lift(advantage: float, favoured: int, scope: Scope) -> float:
    """Probability of the best tenth where ``favoured`` of them have odds ``e^advantage`` and all others 1."""
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)
