"""Augmented Private Evolution (Xie et al., ICML 2024, Algorithm 1): votes as in Private Evolution; the best are kept.

Sizes are those that its authors use with chat APIs: L = 4, so a pool of four times the dataset, which is the survivors
and three variations of each; ten votes, the last of which selects the dataset.
"""

from __future__ import annotations

from pcevolve.methods.lift import histogram_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import gaussian_per_round

METHOD = Method(
    name="aug-pe",
    summary="Augmented Private Evolution: every private image votes for its nearest candidate of survivors and their "
    "variations, Gaussian noise, the best survive, are varied and in the end kept",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: a privacy unit moves the votes of all classes together "
        "by at most 1 in L2 norm under add-remove and by the square root of 2 under replace-one; the iterations and "
        "the selection of the dataset compose"
    ),
    selector="votes-rank",
    tight=gaussian_per_round,
    lift=histogram_lift,
    rounds=always(9),
    delta=1e-5,
    prototypes=None,
    schedule=Schedule(0.98, 0.6),
    pool="survivors",
    variations=3,
    keep="selected",
    selects_anew=True,
    own=frozenset({"votes", "threshold", "threshold_end", "selection", "variations"}),
)
