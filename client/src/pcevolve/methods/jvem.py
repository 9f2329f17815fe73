"""Joint-vote exponential mechanism: one tuple of prototypes per block of classes, drawn by all its images."""

from __future__ import annotations

from fractions import Fraction

from pcevolve.methods.lift import joint_lift
from pcevolve.methods.method import Method, Schedule
from pcevolve.methods.rounds import Scope, exponential_per_round
from pcevolve.privacy import Budget

MOST_ROUNDS = 20


def rounds(budget: Budget, scope: Scope) -> int:
    """``T = clip(floor(epsilon K / 30), 1, 20)`` under replace-one, ``/ 15`` under add-remove."""
    share = Fraction(30 if scope.relation == "replace-one" else 15)
    return min(max(int(budget.epsilon * scope.shots / share), 1), MOST_ROUNDS)


METHOD = Method(
    name="jvem",
    summary="joint-vote exponential mechanism: private images vote for tuples of one candidate per class",
    guarantee=(
        "every round is one eta-bounded-range access under add-remove and 2 eta under replace-one: a privacy unit's "
        "vote for a tuple lies in [0, 1] and counts in one block of classes, so blocks compose in parallel; rounds "
        "compose adaptively, by the best of pure, zCDP and Renyi accounting at the given delta"
    ),
    selector="joint",
    tight=exponential_per_round,
    lift=joint_lift,
    rounds=rounds,
    delta=1e-5,
    schedule=Schedule(0.8, 0.6),
)
