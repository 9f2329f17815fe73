"""Which method suits a job, from public quantities alone."""

from __future__ import annotations

from pcevolve.methods import dp_means
from pcevolve.methods.centre_first import means_noise
from pcevolve.methods.method import first_selection
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Budget

DROWNED = 0.67
"""Noise on class means, in clip radii of their deviations per axis, beyond which they say less than the prompt does: on
the development data they beat votes at 0.56 (two shots, epsilon 10) and lose with a linear head at 0.84 (ten shots,
epsilon 1), measured without a centre at the same budgets."""


def choose(budget: Budget, scope: Scope) -> tuple[str, str]:
    """The method's name and the reason for it.

    Args:
        budget: What may be spent.
        scope: Public sizes of the job.
    """
    if budget.delta == 0:
        return "jvem", "delta is 0, which rules out Gaussian noise: jvem is the strongest pure method"
    noise = means_noise(first_selection(dp_means.METHOD.accesses(budget, scope)), scope)
    measured = f"noise on class means would be {noise:.2f} clip radii per axis at {scope.shots} shots"
    if noise > DROWNED:
        return "pe", f"{measured}, which drowns them; votes do less harm"
    return "dp-means", f"{measured}, and one release of them leaves every selection free"
