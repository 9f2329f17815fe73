"""PCEvolve: class centres, contrastive filter, similarity calibrator (section 4.1); ablations; the Gaussian form.

Every utility lies in [0, 1] whatever the private data are, so its sensitivity is 1 under both neighbour relations and
for units of any number of images. It is not monotone: one image moves a class's centre, and with it all candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray, Noise, clamped
from pcevolve.dp.sensitivity import bounded_vector_sensitivity
from pcevolve.errors import DataError
from pcevolve.privacy import Events
from pcevolve.selectors.distances import distances
from pcevolve.selectors.drawn import Drawn
from pcevolve.selectors.scene import (
    IntArray,
    Measurement,
    PrivateEmbeddings,
    Scene,
    deviation,
    expect,
    only,
)

Utility = Callable[[FloatArray, int, float], FloatArray]
"""From distances, float64 ``(candidates, classes)`` to the class centres, the own class's column, and the τ of the
similarity calibrator, to float64 ``(candidates,)`` in [0, 1]."""


def passing(distance: FloatArray, own: int) -> NDArray[np.bool_]:
    """Contrastive filter: whether the own centre is strictly the nearest, bool ``(candidates,)``.

    Source: PCEvolve, equation 1.
    """
    others = np.delete(distance, own, axis=1).min(axis=1, initial=np.inf)
    return np.asarray(np.isfinite(distance).all(axis=1) & (distance[:, own] < others))


def similarity(near: FloatArray, tau: float) -> FloatArray:
    """Similarity calibrator ``exp(-tau * (d - d_min) / (d_max - d_min))``; 1 where all distances are equal.

    Source: PCEvolve, equation 3.
    """
    spread = np.ptp(near) if len(near) else 0.0
    return np.exp(-tau * (near - near.min()) / spread) if spread > 0 else np.ones(len(near))


def calibrated(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """``u = h∘g``, as published: calibrated over the candidates that pass, 0 for all others."""
    return _where(passing(distance, own), distance[:, own], lambda near: similarity(near, tau))


def filtered(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = g``: 1 for candidates that pass, 0 for the others."""
    return passing(distance, own).astype(np.float64)


def unfiltered(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = h``: calibrated over all candidates."""
    return _where(np.isfinite(distance[:, own]), distance[:, own], lambda near: similarity(near, tau))


def uncalibrated(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Ablation ``u = h'∘g`` with ``h' = exp(-d)``, equation 2: 0 for candidates that do not pass."""
    return _where(passing(distance, own), distance[:, own], lambda near: np.exp(-near))


@dataclass(frozen=True)
class Contrastive(Drawn):
    """One draw per class with probability proportional to ``exp(ε u / 2)``.

    The event of a round is ``exponential`` (or ``permute-and-flip``) with ε for each of its ``classes`` draws: each
    sees the images of all classes, so the draws compose.

    Attributes:
        utility: Scores the candidates.
    """

    utility: Utility = calibrated

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Draw a candidate of each class by its utility.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no private image, so it has no centre; nothing was drawn.
        """
        event = only(events)
        expect(event, "exponential", "permute-and-flip", accesses=len(scene.labels))
        draw = noise.exponential if event.mechanism == "exponential" else noise.permute_and_flip
        drawn = [
            entrants[draw(f"{scene.key}/{label}", scores, event.value / 2)]
            for label, (entrants, scores) in zip(scene.labels, self.scores(private, scene), strict=True)
        ]
        return {"chosen": np.array(drawn, dtype=np.int64)}

    def scores(self, private: PrivateEmbeddings, scene: Scene) -> list[tuple[IntArray, FloatArray]]:
        """Of each class, the candidates that may be drawn and their utilities; all of it private."""
        centres = _centres(private, scene)
        scored = []
        for target, pool in enumerate(scene.pools):
            entrants = scene.entrants(target)
            utility = self.utility(distances(pool[entrants], centres), target, scene.tau)
            scored.append((entrants, clamped(utility)))
        return scored


@dataclass(frozen=True)
class NoisyArgmax(Drawn):
    """Gaussian noise on the utilities, and the largest of each class wins (PCEvolve-GM, Table 3).

    The vector of N utilities of a class has an L2 sensitivity of sqrt(N); the event of a round counts its classes.
    """

    utility: Utility = calibrated

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Draw a candidate of each class by its utility.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no private image, so it has no centre; nothing was drawn.
        """
        event = only(events)
        expect(event, "gaussian", accesses=len(scene.labels))
        drawn = []
        scored = Contrastive(self.utility).scores(private, scene)
        for label, (entrants, scores) in zip(scene.labels, scored, strict=True):
            sigma = deviation(event, bounded_vector_sensitivity(len(entrants)))
            drawn.append(entrants[np.argmax(noise.gaussian(f"{scene.key}/{label}", scores, sigma))])
        return {"chosen": np.array(drawn, dtype=np.int64)}


def _where(
    chosen: NDArray[np.bool_], near: FloatArray, score: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    utility = np.zeros(len(near))
    utility[chosen] = score(near[chosen])
    return utility


def _centres(private: PrivateEmbeddings, scene: Scene) -> FloatArray:
    """Mean embedding of each class, float64 ``(classes, d)``; a unit counts once, however many images it has."""
    for target, label in enumerate(scene.labels):
        if not (private.targets == target).any():
            raise DataError(f"class '{label}' has no private images, so it has no centre: nothing was drawn")
    shares = private.shares
    rows = [private.targets == target for target in range(len(scene.labels))]
    return np.stack([np.average(private.embeddings[row], axis=0, weights=shares[row]) for row in rows])
