"""DP class means: one Gaussian release of what each class looks like; every selection after it is free."""

from __future__ import annotations

from pcevolve.methods.lift import means_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import gaussian_once

METHOD = Method(
    name="dp-means",
    summary="DP class means: released once, around a centre, with Gaussian noise; all selections follow for free",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of the sums of clipped, publicly centred "
        "embeddings of all classes together, of L2 sensitivity R under add-remove and 2 R under replace-one, R being "
        "the public clip radius; every selection is post-processing of it"
    ),
    selector="means",
    tight=gaussian_once,
    lift=means_lift,
    rounds=always(0),
    delta=1e-5,
    prototypes=10,
    schedule=Schedule(0.6, 0.4),
    initial=4,
    pool="all",
    keep="selected",
    appearance="auto",
    centre_first=(
        "(epsilon, delta)-DP by Gaussian differential privacy: two releases in publicly centred embeddings, the second "
        "chosen after seeing the first: the sum of all embeddings clipped to the public radius R, of L2 sensitivity R "
        "under add-remove and 2 R under replace-one, and the sums by class of their deviations from the centre that "
        "it gives, clipped to R/2, of all classes together, of L2 sensitivity R/2 under add-remove and R under "
        "replace-one; every selection is post-processing of them"
    ),
)
