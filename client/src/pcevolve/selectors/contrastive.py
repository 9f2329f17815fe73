"""PCEvolve: class centres, contrastive filter, similarity calibrator (section 4.1).

Every utility lies in [0, 1] whatever the private data are, so its sensitivity is 1 under both neighbour relations and
for units of any number of images. It is not monotone: one image moves a class's centre, and with it all candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray, Noise, clamped
from pcevolve.errors import DataError
from pcevolve.privacy import Events
from pcevolve.selectors.distances import distances
from pcevolve.selectors.drawn import Drawn
from pcevolve.selectors.scene import (
    IntArray,
    Measurement,
    PrivateEmbeddings,
    Scene,
    expect,
    only,
)


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
    """``u = h∘g``, as published: calibrated over the candidates that pass, 0 for all others.

    Args:
        distance: float64 ``(candidates, classes)``: to the class centres.
        own: Column of the candidates' own class.
        tau: τ of the similarity calibrator.

    Returns:
        float64 ``(candidates,)`` in [0, 1].
    """
    utility, chosen = np.zeros(len(distance)), passing(distance, own)
    utility[chosen] = similarity(distance[chosen, own], tau)
    return utility


class Contrastive(Drawn):
    """One draw per class with probability proportional to ``exp(ε u / 2)``.

    The event of a round is ``exponential`` with ε for each of its ``classes`` draws: each sees the images of all
    classes, so the draws compose.
    """

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Draw a candidate of each class by its utility.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no private image, so it has no centre; nothing was drawn.
        """
        event = only(events)
        expect(event, "exponential", accesses=len(scene.labels))
        drawn = [
            entrants[noise.exponential(f"{scene.key}/{label}", scores, event.value / 2)]
            for label, (entrants, scores) in zip(scene.labels, self.scores(private, scene), strict=True)
        ]
        return {"chosen": np.array(drawn, dtype=np.int64)}

    def scores(self, private: PrivateEmbeddings, scene: Scene) -> list[tuple[IntArray, FloatArray]]:
        """Of each class, the candidates that may be drawn and their utilities; all of it private."""
        centres = _centres(private, scene)
        scored = []
        for target, pool in enumerate(scene.pools):
            entrants = scene.entrants(target)
            utility = calibrated(distances(pool[entrants], centres), target, scene.tau)
            scored.append((entrants, clamped(utility)))
        return scored


def _centres(private: PrivateEmbeddings, scene: Scene) -> FloatArray:
    """Mean embedding of each class, float64 ``(classes, d)``; a unit counts once, however many images it has."""
    for target, label in enumerate(scene.labels):
        if not (private.targets == target).any():
            raise DataError(f"class '{label}' has no private images, so it has no centre: nothing was drawn")
    shares = private.shares
    rows = [private.targets == target for target in range(len(scene.labels))]
    return np.stack([np.average(private.embeddings[row], axis=0, weights=shares[row]) for row in rows])
