"""The lift of a choice: how much better than chance it is under an ideal utility.

A lift is the probability that a chosen prototype is of the best tenth, under a utility that no real one
beats. Each family of methods has its own ideal: all nominal shots agree on the best tenth of the candidates,
and on nothing else.
"""

from __future__ import annotations

import math

from pcevolve.public.privacy import Event
from pcevolve.public.selectors.rounds import Scope


def best_tenth(candidates: int) -> int:
    """Return the number of candidates in the best tenth: at least one."""
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of a uniform draw: the best tenth's share of the candidates, 0.1 if ten divides their number."""
    return best_tenth(scope.candidates) / scope.candidates


def drawn_lift(advantage: float, favoured: int, scope: Scope) -> float:
    """Return the probability of the best tenth if ``favoured`` have odds ``e^advantage`` and the others 1."""
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)
