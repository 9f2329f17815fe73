"""PCEvolve (Zhang et al., ICML 2025, Algorithm 1) and the ablations of its Table 3."""

from __future__ import annotations

from dataclasses import replace

from pcevolve.methods.lift import exponential_lift, permute_and_flip_lift
from pcevolve.methods.method import Method
from pcevolve.methods.rounds import exponential_per_class, permute_and_flip_per_class

METHOD = Method(
    name="pcevolve",
    summary="PCEvolve: class centres, contrastive filter, similarity calibrator, exponential mechanism",
    guarantee=(
        "pure epsilon-DP, delta = 0: every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under "
        "replace-one and add-remove, because the factor 1/2 of the exponential mechanism is kept"
    ),
    selector="contrastive",
    tight=exponential_per_class,
    lift=exponential_lift,
    own=frozenset({"tau"}),
)

PERMUTE_AND_FLIP = replace(
    METHOD,
    name="pcevolve-pf",
    summary="PCEvolve by permute-and-flip, which is never worse than the exponential mechanism at the same epsilon",
    guarantee=(
        "pure epsilon-DP, delta = 0: every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under "
        "replace-one and add-remove, because the factor 1/2 of both mechanisms is kept"
    ),
    tight=permute_and_flip_per_class,
    lift=permute_and_flip_lift,
)

ABLATIONS = (
    replace(
        METHOD,
        name="pcevolve-g",
        summary="PCEvolve without the similarity calibrator: utility g, the contrastive filter alone",
        selector="filter",
        own=frozenset(),
    ),
    replace(
        METHOD,
        name="pcevolve-h",
        summary="PCEvolve without the contrastive filter: utility h, the similarity calibrator alone",
        selector="unfiltered",
    ),
    replace(
        METHOD,
        name="pcevolve-exp",
        summary="PCEvolve with the plain similarity exp(-d) of its equation 2 in place of the calibrator",
        selector="plain-distance",
        own=frozenset(),
    ),
)
