"""Real filtering (RF): prompts alone, less the images that lie nearest to another class's private images.

What is measured has no noise: it says of every candidate how near private images are. How near an image is to those of
its own class plays no part, as in the publications. The official code rejects what is nearer than a fixed distance and
makes more until there are enough; here a share is rejected, which needs no distance of an encoder's own.

Source: He et al. 2023, section 3.2, and as PCEvolve, section 5.1 and appendix A.3, describes it.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.geometry.distances import IntArray, squared_distances
from pcevolve.selectors import Measurement, PrivateEmbeddings, Scene
from pcevolve_benchmarks.baselines.session import Access, Accesses, Baseline, Options

POOL = 3
"""Candidates for each image of the dataset: two of three are rejected."""
USELESS = -1.0
"""Distance of a candidate that is no image."""
USUAL_CANDIDATES = 100


class FarFromOthers:
    """Rejects the candidates that lie nearest to private images of other classes, until as many are left as wanted."""

    def measure(
        self, private: PrivateEmbeddings, scene: Scene, events: Accesses, noise: Noise
    ) -> Measurement:
        """Distances of all candidates, without noise.

        Returns:
            ``distances``: float64 ``(candidates of all classes,)``, class after class, squared, to the nearest private
            image of another class; infinite where there is no other class.
        """
        return {
            "distances": np.concatenate(
                [_to_others(pool, private, target) for target, pool in enumerate(scene.pools)]
            )
        }

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """The candidates that are left, in the order of the pool; the same again where there are too few images."""
        ends = pairwise(accumulate((len(pool) for pool in scene.pools), initial=0))
        return tuple(_rest(measured["distances"][start:stop], scene.wanted) for start, stop in ends)


def _to_others(pool: FloatArray, private: PrivateEmbeddings, target: int) -> FloatArray:
    """Squared distance of each candidate to the nearest private image of another class."""
    others = np.asarray(private.embeddings, dtype=np.float64)[private.targets != target]
    far = squared_distances(pool, others).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(pool).all(axis=1), far, USELESS)


def _rest(distances: FloatArray, wanted: int) -> IntArray:
    farthest = np.argsort(-distances, kind="stable")
    usable = int((distances > USELESS).sum()) or len(distances)  # those that are not come last
    return np.resize(np.sort(farthest[: min(wanted, usable)]), wanted).astype(np.int64)


def _usual(given: Options) -> Options:
    """One selection out of three times as many candidates."""
    many = POOL * int(given.get("candidates", USUAL_CANDIDATES))
    return {"initial": given.get("initial") or many, "pool": "all", "keep": "selected"}


BASELINE = Baseline(
    name="rf",
    summary="text-to-image, less what lies nearest to another class's private images",
    protects="nothing: which candidates are kept depends on the private images without any noise",
    base="t2i",
    accesses=lambda budget, scope: ((Access("unprotected"),),),
    carry_out=lambda session: session.evolve_by(FarFromOthers()),
    paid=False,
    usual=_usual,
)
