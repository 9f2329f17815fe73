"""PCEvolve (Zhang et al., ICML 2025, Algorithm 1)."""

from __future__ import annotations

from pcevolve.methods.lift import exponential_lift
from pcevolve.methods.method import Method
from pcevolve.methods.rounds import exponential_per_class

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
