"""SecPE: one weighted release of where private records lie; every selection follows from it (arXiv 2510.10990).

Where the published mechanism draws records anew in each round, this one counts all of them once: the centres of cells
do not depend on what is released, so nothing is gained by asking again.
"""

from __future__ import annotations

from pcevolve.methods.lift import histogram_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import gaussian_once

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
    own=frozenset(
        {
            "secrets",
            "secret_columns",
            "detect_secrets",
            "secret_prior",
            "secret_bound",
            "secret_size",
            "cells",
            "variations",
        }
    ),
)
