"""PCEvolve with the Gaussian mechanism (its Table 3): noise on the utility, the largest entry wins."""

from __future__ import annotations

from pcevolve.methods.lift import noisy_argmax_lift
from pcevolve.methods.method import Method
from pcevolve.methods.pcevolve import METHOD as PCEVOLVE
from pcevolve.methods.rounds import gaussian_per_class, published_gaussian_per_class

METHOD = Method(
    name="pcevolve-gm",
    summary="PCEvolve with Gaussian noise on the utility in place of the exponential mechanism",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: every draw adds noise to a vector of N utilities in "
        "[0, 1], whose L2 sensitivity is at most the square root of N under replace-one and under add-remove, and "
        "all iterations x classes draws compose. The published calibration takes K x N for the sensitivity and "
        "splits epsilon evenly: more noise than is needed"
    ),
    selector="noisy-argmax",
    tight=gaussian_per_class,
    lift=noisy_argmax_lift,
    published=published_gaussian_per_class,
    rounds=PCEVOLVE.rounds,
    delta=1e-5,
    own=PCEVOLVE.own,
)
