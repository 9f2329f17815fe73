"""PCEvolve by other mechanisms and with other utilities: permute-and-flip, Gaussian noise (GM), and the ablations.

Every utility lies in [0, 1], so its sensitivity is 1 under both neighbour relations.

Source: PCEvolve (Zhang et al., ICML 2025), section 4.1, section 5.2 and Table 3; McKenna & Sheldon 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import UsageError
from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.dp.mechanisms import FloatArray, Noise, clamp
from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.geometry.distances import IntArray, distances
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors import METHODS, Measurement, PrivateEmbeddings, Scope, SelectionInput
from pcevolve.public.selectors.consistency import Drawn
from pcevolve.public.selectors.contrastive import calibrate, class_centres, mark_passing, similarity
from pcevolve.public.selectors.selection import deviation
from pcevolve_benchmarks.baselines.session import Accesses, Baseline, BaselineAccess, of_events

COIN = 2**53
"""Sides of a coin that is as finely biased as a float."""
Utility = Callable[[FloatArray, int, float], FloatArray]
"""From distances, float64 ``(candidates, classes)`` to the class centres, the own class's column, and τ, to float64
``(candidates,)`` in [0, 1]."""


def filter_only(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = g``: 1 for candidates that pass, 0 for the others."""
    return mark_passing(distance, own).astype(np.float64)


def calibrate_all(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = h``: calibrated over all candidates."""
    return _where(np.isfinite(distance[:, own]), distance[:, own], lambda near: similarity(near, tau))


def decay_only(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = h'∘g`` with ``h' = exp(-d)``, equation 2: 0 for candidates that do not pass."""
    return _where(mark_passing(distance, own), distance[:, own], lambda near: np.exp(-near))


@dataclass(frozen=True)
class Form(Drawn):
    """One draw for each class and round, by a utility and a mechanism.

    Attributes:
        utility: Scores the candidates.
    """

    utility: Utility = calibrate

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Accesses, noise: Noise
    ) -> Measurement:
        """Draw a candidate of each class; the round's one access says by which mechanism.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no image, so it has no centre.
        """
        (access,) = events
        drawn = [
            eligible[self._draw(access, f"{scene.key}/{label}", scores, noise)]
            for label, (eligible, scores) in zip(scene.labels, self._scores(private, scene), strict=True)
        ]
        return {"chosen": np.array(drawn, dtype=np.int64)}

    def _draw(self, access: BaselineAccess, key: str, scores: FloatArray, noise: Noise) -> int:
        if access.mechanism == "gaussian":
            event = Event("gaussian", access.parameter)
            return int(np.argmax(noise.gaussian(key, scores, deviation(event, math.sqrt(len(scores))))))
        rate = Event("exponential", access.parameter).value / 2
        if access.mechanism == "permute-and-flip":
            return permute_and_flip(key, scores, rate, noise)
        return noise.exponential(key, scores, rate)

    def _scores(self, private: PrivateEmbeddings, scene: SelectionInput) -> list[tuple[IntArray, FloatArray]]:
        centres = class_centres(private, scene)
        scored = []
        for target, pool in enumerate(scene.pools):
            eligible = scene.eligible(target)
            utility = self.utility(distances(pool[eligible], centres), target, scene.tau)
            scored.append((eligible, clamp(utility)))
        return scored


def permute_and_flip(key: str, scores: FloatArray, rate: Fraction, noise: Noise) -> int:
    """Visit indices in random order and take each with probability ``exp(rate · (scores[i] - max(scores)))``.

    Pure ε-DP with ε = 2 · rate for scores in [0, 1], and never a worse score on average than the exponential mechanism
    at the same ε. In floats, which is exact enough for public images.

    Source: McKenna & Sheldon 2020.
    """
    odds, left = np.exp(float(rate) * (scores - scores.max())), list(range(len(scores)))
    while True:
        index = left.pop(noise.uniform(f"{key}/{len(left)}", len(left)))
        if noise.uniform(f"{key}/{len(left)}/taken", COIN) < COIN * odds[index]:
            return index


def _where(
    chosen: NDArray[np.bool_], near: FloatArray, score: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    utility = np.zeros(len(near))
    utility[chosen] = score(near[chosen])
    return utility


def _exponential(budget: Budget, scope: Scope) -> tuple[Accesses, ...]:
    return of_events(METHODS["pcevolve"].events(budget, scope))


def _permute_and_flip(budget: Budget, scope: Scope) -> tuple[Accesses, ...]:
    """Draws by permute-and-flip, each of the pure ε that the exponential mechanism would have."""
    return tuple(
        tuple(BaselineAccess("permute-and-flip", each.parameter, each.count) for each in accesses)
        for accesses in _exponential(budget, scope)
    )


def _gaussian(budget: Budget, scope: Scope) -> tuple[Accesses, ...]:
    """The smallest noise multiplier that fits all iterations x classes draws.

    Raises:
        UsageError: δ is 0.
    """
    if scope.iterations == 0:
        return ()
    if budget.delta == 0:
        raise UsageError("Gaussian noise needs --delta, for example --delta 1e-5")
    multiplier = smallest_noise_multiplier(budget, scope.classes * scope.iterations)
    return ((BaselineAccess("gaussian", str(multiplier), scope.classes),),) * scope.iterations


PURE = (
    "pure epsilon-DP where it is paid for: every draw has a utility in [0, 1] and costs "
    "epsilon/(iterations x classes)"
)


def _form(name: str, summary: str, utility: Utility) -> Baseline:
    return Baseline(
        name,
        summary,
        PURE,
        "pcevolve",
        _exponential,
        lambda session: session.evolve_by(Form(utility)),
        evolves=True,
    )


BASELINES = (
    Baseline(
        "pcevolve-pf",
        "PCEvolve by permute-and-flip, which is never worse than the exponential mechanism at the same epsilon",
        PURE,
        "pcevolve",
        _permute_and_flip,
        lambda session: session.evolve_by(Form()),
        evolves=True,
    ),
    _form(
        "pcevolve-g", "PCEvolve without the similarity calibrator: utility g, the filter alone", filter_only
    ),
    _form(
        "pcevolve-h",
        "PCEvolve without the contrastive filter: utility h, the calibrator alone",
        calibrate_all,
    ),
    _form(
        "pcevolve-exp",
        "PCEvolve with the plain similarity exp(-d) of its equation 2 in place of the calibrator",
        decay_only,
    ),
    Baseline(
        "pcevolve-gm",
        "PCEvolve with Gaussian noise on the utility in place of the exponential mechanism",
        "(epsilon, delta)-DP where it is paid for: a vector of N utilities in [0, 1] has an L2 sensitivity of at "
        "most the square root of N, and all iterations x classes draws compose",
        "pcevolve",
        _gaussian,
        lambda session: session.evolve_by(Form()),
        evolves=True,
        delta=USUAL_DELTA,
    ),
)
