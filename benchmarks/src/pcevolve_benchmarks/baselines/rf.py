"""Real-Fake filtering (RF): prompts alone, less the images that resemble another class's private images.

What is measured has no noise: it says of every candidate how near private images are.

Source: Samuel et al. 2024, as PCEvolve, section 5.1 and appendix A.3, describes it.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.selectors import Measurement, PrivateEmbeddings, Scene
from pcevolve.selectors.distances import squared_distances
from pcevolve.selectors.scene import IntArray
from pcevolve_benchmarks.baselines.session import Access, Accesses, Baseline, Options

POOL = 3
"""Candidates for each image of the dataset."""
WORST = -1.0
"""Margin of a candidate that is no image."""
USUAL_CANDIDATES = 100


class Resembling:
    """Takes candidates whose nearest private image is of their own class, in the order of the pool; then the others."""

    def measure(
        self, private: PrivateEmbeddings, scene: Scene, events: Accesses, noise: Noise
    ) -> Measurement:
        """Margins of all candidates, without noise.

        Returns:
            ``margins``: float64 ``(candidates of all classes,)`` in [-1, 1], class after class, above 0 where the
            nearest private image is of the candidate's class.
        """
        return {
            "margins": np.concatenate(
                [_margins(pool, private, target) for target, pool in enumerate(scene.pools)]
            )
        }

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """The first candidates with a margin above 0, then those with the largest; the same again where few are."""
        ends = pairwise(accumulate((len(pool) for pool in scene.pools), initial=0))
        return tuple(_first(measured["margins"][start:stop], scene.wanted) for start, stop in ends)


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


def _usual(given: Options) -> Options:
    """One selection out of three times as many candidates."""
    many = POOL * int(given.get("candidates", USUAL_CANDIDATES))
    return {"initial": given.get("initial") or many, "pool": "all", "keep": "selected"}


BASELINE = Baseline(
    name="rf",
    summary="text-to-image, less what resembles another class's private images",
    protects="nothing: which candidates are kept depends on the private images without any noise",
    base="t2i",
    accesses=lambda budget, scope: ((Access("unprotected"),),),
    carry_out=lambda session: session.chosen_by(Resembling()),
    paid=False,
    usual=_usual,
)
