"""Private Evolution (Lin et al., ICLR 2024): a noisy histogram of nearest-neighbour votes."""

from __future__ import annotations

from dataclasses import replace

from pcevolve.methods.lift import draws_lift, histogram_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import (
    Rounds,
    Scope,
    exponential_draws,
    gaussian_per_round,
    published_gaussian_per_round,
)
from pcevolve.privacy import Budget

METHOD = Method(
    name="pe",
    summary="Private Evolution: every private image votes for its nearest candidate, Gaussian noise, resampling",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: a privacy unit moves the votes of all classes together "
        "by at most 1 in L2 norm under add-remove and by the square root of 2 under replace-one; the iterations "
        "compose. The published calibration is the looser split sigma = sqrt(2 ln(1.25/delta))/epsilon per step"
    ),
    selector="votes",
    tight=gaussian_per_round,
    lift=histogram_lift,
    published=published_gaussian_per_round,
    rounds=always(3),
    delta=1e-5,
    prototypes=None,
    schedule=Schedule(0.98, 0.6),
    own=frozenset({"threshold", "threshold_end", "votes", "class_counts"}),
)

DRAWS = 5
"""Most draws of ``pe-em`` per class and round: as many as it has prototypes by default, so that none is in vain."""


def _draws(budget: Budget, scope: Scope) -> Rounds:
    return exponential_draws(EXPONENTIAL.prototypes_for(scope.candidates))(budget, scope)


EXPONENTIAL = replace(
    METHOD,
    name="pe-em",
    summary="Private Evolution's votes with the exponential mechanism in place of Gaussian noise",
    guarantee=(
        "epsilon-DP, or (epsilon, delta)-DP where composition of bounded-range mechanisms is tighter: every draw "
        "has probability proportional to exp(eta x votes); a privacy unit adds at most 1 vote in one class, so a draw "
        "of all classes together is eta-bounded-range under add-remove and 2 eta under replace-one"
    ),
    selector="votes-em",
    tight=_draws,
    lift=draws_lift,
    published=None,
    prototypes=DRAWS,
    own=frozenset(),
)
