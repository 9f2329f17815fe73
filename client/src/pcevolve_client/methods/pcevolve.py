"""PCEvolve (Zhang et al., ICML 2025, Algorithm 1): one prototype per class by the exponential mechanism."""

from __future__ import annotations

from ..budget.mechanisms import ExponentialMechanism
from .method import Method

METHOD = Method(
    name="pcevolve",
    summary="PCEvolve: class centres, contrastive filter, similarity calibrator, exponential mechanism",
    guarantee=(
        "pure epsilon-DP, delta = 0: every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under "
        "replace-one and add-remove, because the factor 1/2 of the exponential mechanism is kept"
    ),
    mechanism=ExponentialMechanism,
    utility="pcevolve",
    iterations=20,
)
