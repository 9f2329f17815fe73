"""SecPE: one weighted release of where private records lie; every selection follows from it (arXiv 2510.10990).

Where the published mechanism draws records anew in each round, this one counts all of them once: the centres of cells
do not depend on what is released, so nothing is gained by asking again. ``AS_NOTED`` is the published one, put right.
"""

from __future__ import annotations

from dataclasses import replace

from pcevolve.methods.lift import histogram_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import Rounds, Scope, gaussian_once
from pcevolve.privacy import Budget, Event


def _as_noted(budget: Budget, scope: Scope) -> Rounds:
    """One release in each round, whatever the budget: its noise follows from who holds which secret."""
    return ((Event("secret-noise"),),) * scope.iterations


def _exact(events: tuple[Event, ...], scope: Scope) -> float:
    """Texts without secrets are always counted, and what noise leaves of them is not known beforehand."""
    return 1.0


SECRETS = frozenset({"secrets", "secret_columns", "secret_prior", "secret_bound", "secret_size", "cells"})
"""Options about secrets whose holders are known by provenance, and about what is counted."""

METHOD = Method(
    name="secpe",
    summary="SecPE: private records are counted once around groups of the first candidates, those with secrets less, "
    "with Gaussian noise; all selections follow for free",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of counts of all classes together, to which "
        "a privacy unit adds a vector of L2 norm at most 1, of L2 sensitivity 1 under add-remove and the square root "
        "of 2 under replace-one; every selection is post-processing of it"
    ),
    selector="cells",
    tight=gaussian_once,
    lift=histogram_lift,
    rounds=always(4),
    delta=1e-5,
    prototypes=None,
    schedule=Schedule(0.98, 0.6),
    initial=4,
    pool="all",
    keep="selected",
    own=SECRETS | {"detect_secrets"},
)
AS_NOTED = replace(
    METHOD,
    name="secpe-as-noted",
    summary="NOT DP (needs --not-dp): SecPE as noted: texts with secrets are sampled anew in every round and counted "
    "and averaged around the first candidates with noise for the secrets alone; all other texts always count",
    guarantee=(
        "the listed secrets are protected, and nothing else is: not DP. Whoever guesses one of them with its prior "
        "probability before the run guesses it with its bound at most after all of its releases together, by whatever "
        "attack; the noise is calibrated for that by the privacy loss of the sampled records, each of which moves a "
        "count and a mean, the square root of 2 in all. Texts that hold none of them are counted as if they were "
        "public, under noise that was not meant for them"
    ),
    selector="sampled-cells",
    tight=_as_noted,
    lift=_exact,
    own=SECRETS | {"not_dp"},
)
