"""Real-Fake filtering (RF): candidates that resemble another class's private images are passed over. NOT PRIVATE.

What is measured has no noise, so a record of it says of every candidate how near private images are. It is for runs
under ``--not-private`` alone, whose plan, receipts and files say so.

Source: Samuel et al. 2024, as PCEvolve, section 5.1 and appendix A.3, describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.privacy import Events
from pcevolve.selectors.distances import squared_distances
from pcevolve.selectors.following import has_form
from pcevolve.selectors.scene import IntArray, Measurement, PrivateEmbeddings, Scene, expect, only

WORST = -1.0
"""Margin of a candidate that is no image."""


@dataclass(frozen=True)
class Resembling:
    """Takes candidates whose nearest private image is of their own class, in the order of the pool; then the others."""

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Margins of all candidates, without noise.

        Returns:
            ``margins``: float64 ``(candidates of all classes,)`` in [-1, 1], class after class, above 0 where the
            nearest private image is of the candidate's class.

        Raises:
            ValueError: The event does not say that nothing protects the data; nothing was measured.
        """
        expect(only(events), "unprotected")
        margins = [_margins(pool, private, target) for target, pool in enumerate(scene.pools)]
        return {"margins": np.concatenate(margins)}

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """The first candidates with a margin above 0, then those with the largest; the same again where few are."""
        ends = pairwise(accumulate((len(pool) for pool in scene.pools), initial=0))
        return tuple(_first(measured["margins"][start:stop], scene.wanted) for start, stop in ends)

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """Whether these are the picks; they follow from recorded numbers, so no machine rounds them otherwise."""
        due = self.pick(measured, scene)
        return all(np.array_equal(one, other) for one, other in zip(due, picked, strict=True))

    def rounding_bits(self, measured: Measurement, scene: Scene, events: Events) -> int | None:
        """0 for margins of every candidate, from which the picks follow exactly; None for anything else."""
        candidates = sum(len(pool) for pool in scene.pools)
        fits = has_form(measured, {"margins": (np.float64, (candidates,))})
        return 0 if fits and bool((np.abs(measured["margins"]) <= 1).all()) else None


def _margins(pool: FloatArray, private: PrivateEmbeddings, target: int) -> FloatArray:
    """How much nearer the nearest private image of another class is than that of the own, over their sum."""
    far = squared_distances(pool, np.asarray(private.embeddings, dtype=np.float64))
    own = np.sqrt(far[:, private.targets == target].min(axis=1, initial=np.inf))
    other = np.sqrt(far[:, private.targets != target].min(axis=1, initial=np.inf))
    with np.errstate(invalid="ignore", divide="ignore"):
        margins = np.where(np.isfinite(other), (other - own) / (other + own), 1.0)
    return np.where(np.isfinite(pool).all(axis=1), np.nan_to_num(margins, nan=0.0), WORST)


def _first(margins: FloatArray, wanted: int) -> IntArray:
    passing = margins > 0
    order = np.lexsort((np.arange(len(margins)), np.where(passing, 0.0, -margins), ~passing))
    usable = int((margins > WORST).sum()) or len(order)  # those that are not come last
    return np.resize(order[:usable], wanted).astype(np.int64)
