"""RF: text-to-image, less what resembles another class's private images (PCEvolve, appendix A.3). NOT PRIVATE."""

from __future__ import annotations

from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import Rounds, Scope
from pcevolve.privacy import Budget, Event

POOL = 3
"""Candidates for each image of the dataset."""


def _unprotected(budget: Budget, scope: Scope) -> Rounds:
    """One access that nothing protects, whatever the budget."""
    return ((Event("unprotected"),),) * min(scope.iterations, 1)


def _certain(events: tuple[Event, ...], scope: Scope) -> float:
    """Nothing hides a choice, so it follows the private data."""
    return 1.0


METHOD = Method(
    name="rf",
    summary="NOT PRIVATE (needs --not-private): text-to-image, less what resembles another class's private images",
    guarantee=(
        "none: which candidates are kept depends on the private images without any noise, and the record has a number "
        "for every candidate that says how near they are; nothing but prompts is sent"
    ),
    selector="resembling",
    tight=_unprotected,
    lift=_certain,
    rounds=always(0),
    initial=POOL,
    pool="all",
    keep="selected",
    own=frozenset({"not_private"}),
    varies=False,
)
