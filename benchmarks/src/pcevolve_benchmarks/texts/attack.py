"""How often the best attack finds out a declared secret: on many releases of the client's own code, beside the bound.

The attacker knows everything but which of two values the secret has, and each value has a cell of its own. He says "the
first" where the likelihood ratio is so high that he is wrong in a share p of cases in which it is the other: by Neyman
and Pearson nobody is right more often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest

from pcevolve.public.dp.attacks import most_success, secret_budget, secret_share
from pcevolve.public.dp.calibration import histogram_sensitivity
from pcevolve.public.dp.mechanisms import FloatArray, SeededNoise
from pcevolve.public.plan import PublicPlan
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput, find_method
from pcevolve.public.selectors.method import first_selection

PRIOR: Final = 1e-2
"""Of the attacker's guess: at a smaller one some thousand releases would show nothing."""
RELEASES: Final = 4_000
CONFIDENCE: Final = 0.999
"""Of the limits."""


@dataclass(frozen=True)
class Attacked:
    """The outcome of an attack.

    Attributes:
        success: Share of releases in which he was right.
        low: Its lower limit by Clopper and Pearson.
        high: The upper one.
        bound: r: what the run's promise allows at this prior.
    """

    success: float
    low: float
    high: float
    bound: float

    @property
    def refutes(self) -> bool:
        """True if he is right more often than is promised, beyond chance."""
        return self.low > self.bound


def attack(plan: PublicPlan, releases: int = RELEASES, weaker: float = 1.0) -> Attacked | None:
    """Attack as many releases as a run makes once, of texts that hold a secret and are as many as may.

    Args:
        plan: Of the run.
        releases: How many.
        weaker: Scale of the noise that is put on, over what is due; for tests of the attack.

    Returns:
        None for a run that promises nothing of secrets, or has no ε.
    """
    if plan.secrecy is None or not plan.secure:
        return None
    event = first_selection(find_method(plan.method.name).plan_events(plan))[-1]
    budget, most = secret_budget(plan.secrecy.prior, plan.secrecy.bound), plan.secrecy.most
    share = secret_share(budget, most, float(event.value), plan.privacy.relation)
    holders = PrivateEmbeddings(
        np.zeros((most, 1)), np.zeros(most, dtype=np.int64), np.arange(most), caps=np.full(most, share)
    )
    scene = SelectionInput(
        ("a",), (np.array([[0.0], [1.0]]),), 1, plan.data.shots, 1, 1, 0, plan.privacy.relation
    )
    selector = find_method(plan.method.name).make_selector()
    moved = float(most * holders.capped[0])
    sigma = float(event.value) * histogram_sensitivity(plan.privacy.relation) * weaker
    threshold = -moved - math.sqrt(2) * sigma * float(ndtri(PRIOR))
    right = 0
    for seed in range(releases):
        cells = selector.measure(holders, scene, (event,), _Scaled(seed, weaker))["cells"]
        right += bool(cells[0] - cells[1] > threshold)
    span = binomtest(right, releases).proportion_ci(CONFIDENCE, method="exact")
    return Attacked(right / releases, float(span.low), float(span.high), most_success(budget, PRIOR))


class _Scaled(SeededNoise):
    """Gaussian noise of another size than is asked for; noise of a benchmark may come from a seed."""

    def __init__(self, seed: int, scale: float) -> None:
        super().__init__(seed)
        self._scale = scale

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """As in ``Noise``, of this scale."""
        return super().gaussian(key, values, sigma * self._scale)
