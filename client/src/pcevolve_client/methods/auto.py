"""Which method suits a job, from public quantities alone."""

from __future__ import annotations

from ..budget.calibration import Scope
from ..privacy import Budget


def choose(budget: Budget, scope: Scope) -> tuple[str, str]:
    """The method's name and the reason for it.

    Args:
        budget: What may be spent.
        scope: Public sizes of the job.
    """
    if budget.delta == 0:
        return "jvem", "delta is 0, which rules out Gaussian noise: jvem is the strongest pure method"
    return "dp-means", "one Gaussian release of class means leaves every later selection free"
