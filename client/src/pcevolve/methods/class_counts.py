"""The price of releasing how many privacy units each class has, a part of the first round's budget.

Source: Lin et al. 2024, Algorithm 3, which estimates the counts of unbalanced data first, and there by the Laplace
mechanism; Gaussian noise composes with that of the votes.
"""

from __future__ import annotations

from pcevolve.methods.rounds import Rounds, divided

COUNT_SHARE = 0.1
"""Of the first round's budget, as 1/z²: one number for each class needs less than one for each candidate."""


def with_class_counts(rounds: Rounds) -> Rounds:
    """Rounds the first of which is two accesses, the class counts' and the votes', for the price of the one."""
    return tuple(
        tuple(part for event in events for part in (divided(event, COUNT_SHARE) if not place else (event,)))
        for place, events in enumerate(rounds)
    )
