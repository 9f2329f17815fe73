"""Which method suits a job, from public quantities alone."""

from __future__ import annotations

from pcevolve.dp.sensitivity import bounded_sum_sensitivity
from pcevolve.methods import dp_means
from pcevolve.methods.method import first_selection
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Budget

DROWNED = 0.6
"""Noise on class means, in clip radii per axis, beyond which they say less than the prompt does: on the development
data they beat votes at 0.5 (two shots, epsilon 10) and lose with a linear head at 0.75 (ten shots, epsilon 1)."""


def choose(budget: Budget, scope: Scope) -> tuple[str, str]:
    """The method's name and the reason for it.

    Args:
        budget: What may be spent.
        scope: Public sizes of the job.
    """
    if budget.delta == 0:
        return "jvem", "delta is 0, which rules out Gaussian noise: jvem is the strongest pure method"
    (event,) = first_selection(dp_means.METHOD.accesses(budget, scope))
    noise = float(event.value) * bounded_sum_sensitivity(scope.relation) / scope.shots
    measured = f"noise on class means would be {noise:.2f} clip radii per axis at {scope.shots} shots"
    if noise > DROWNED:
        return "pe", f"{measured}, which drowns them; votes do less harm"
    return "dp-means", f"{measured}, and one release of them leaves every selection free"
