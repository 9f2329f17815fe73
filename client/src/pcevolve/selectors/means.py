"""DP class means (method ``dp-means``): the mean embedding of each class, released once; all choices follow from it.

The frame of reference (centre, axes, clip radius) is made from public images, or from the synthetic candidates of the
first round, so it is public. In it an image is a point of a ball of radius R, and a class is the sum of its images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.calibration import DEVIATION_RADIUS, bounded_sum_sensitivity, deviation_sum_sensitivity
from pcevolve.dp.curves import normal_cdf
from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.geometry.distances import IntArray, squared_distances
from pcevolve.geometry.frame import idle_step, is_rounded_to, project
from pcevolve.privacy import Event, Events
from pcevolve.public.settings import USUAL_DELTA
from pcevolve.selectors.consistency import (
    MACHINE_SHARE,
    MACHINE_STEP,
    has_shape,
    mark_possible_and_sure,
    repeats,
)
from pcevolve.selectors.control import best_tenth
from pcevolve.selectors.method import Method, Schedule, Sensitivity, always
from pcevolve.selectors.rounds import Scope, gaussian_once
from pcevolve.selectors.scene import Measurement, PrivateEmbeddings, Scene
from pcevolve.selectors.sums import choose_release
from pcevolve.selectors.votes import moving_vote

BEST_SHARE = 0.1
"""Share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""How much the nearest other class's mean repels; at 1 and more, outliers would be the best."""


@dataclass(frozen=True)
class Means:
    """Class means are released once, by ``sums.AtOnce`` or ``sums.CentreFirst``; every choice is post-processing."""

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Release class means in the public frame ``centre, axes`` that is stored with them; see ``means_of``.

        One event pays for all sums at once; two pay for a centre and for deviations from it. With no budget at all, a
        class looks as its prompt says.
        """
        # Fixed by public candidates before the first private point is read; sensitivity holds in any frame.
        frame = scene.coordinates
        released = choose_release(frame, scene, events).release(private, noise)
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), **released}

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """Of each class, different candidates that are like its released mean, and not all alike."""
        return tuple(self._choose(measured, scene, target) for target in range(len(scene.labels)))

    def could_measure(self, measured: Measurement, scene: Scene, events: Events) -> bool:
        """True for means of all classes, without idle digits, in the public frame as this or another machine has it."""
        frame = scene.coordinates
        width, most = frame.axes.shape
        doubts = choose_release(frame, scene, events).doubts
        by_class = len(scene.labels), most
        shapes = {"middle": (most,), "means": by_class, "deviations": by_class}
        form = {
            "centre": (np.float64, (width,)),
            "axes": (np.float64, (width, most)),
            **{name: (np.float64, shapes[name]) for name in doubts},
        }
        if not has_shape(measured, form):
            return False
        # Half a step, because a doubt may lie at a power of two.
        if not all(is_rounded_to(measured[name], idle_step(doubt) / 2) for name, doubt in doubts.items()):
            return False
        recorded = measured["centre"], measured["axes"]
        # One from a file is the same on every machine.
        return frame.equals(*recorded) or (scene.frame is None and frame.resembles(*recorded))

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """Candidates that are like their released mean, each as far as any from those before it, rounding aside."""
        return all(self._follows(measured, scene, target, each) for target, each in enumerate(picked))

    def _follows(self, measured: Measurement, scene: Scene, target: int, picked: IntArray) -> bool:
        entrants = scene.entrants(target)
        points = project(scene.pools[target][entrants], measured["centre"], measured["axes"])
        points = np.nan_to_num(points)  # where none can be used, all are alike
        squared = squared_distances(points, aims_of(measured))
        most = min(max(scene.wanted, math.ceil(BEST_SHARE * len(entrants))), len(entrants))
        possible, surely = mark_best(squared, target, most)
        first, _ = mark_best(squared, target, 1)
        distinct = min(scene.wanted, most)
        indices = np.searchsorted(entrants, picked[:distinct])
        known = bool(np.isin(picked, entrants).all()) and repeats(picked, distinct)
        return (
            known
            and bool(first[indices[0]])
            and bool(possible[indices].all())
            and could_be_spread(points, surely, indices)
        )

    def _choose(self, measured: Measurement, scene: Scene, target: int) -> IntArray:
        entrants = scene.entrants(target)
        points = project(scene.pools[target][entrants], measured["centre"], measured["axes"])
        order = rank(squared_distances(points, aims_of(measured)), target)
        best = order[: max(scene.wanted, math.ceil(BEST_SHARE * len(order)))]
        return np.resize(entrants[best[spread(points[best], scene.wanted)]], scene.wanted)


def means_of(measured: Measurement) -> FloatArray:
    """Released class means, float64 ``(classes, k)``: as they were measured, or the centre and deviations from it."""
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"])


def aims_of(measured: Measurement) -> FloatArray:
    """Return the points that choices aim at, float64 ``(classes, k)``: released means, stretched away from a centre.

    Clipping deviations to half the radius draws class means to the centre by about as much, and candidates that lie
    there are of no class. On the development sets the share of right ones among unlabelled real candidates rose by 1.6
    to 6.4 points (decision 20).
    """
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"] / DEVIATION_RADIUS)


def distance_to_released_means(measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> float:
    """Mean distance of picks to the released means of their classes; of two renditions, the nearer one is better."""
    gaps = [
        squared_distances(project(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(scene.pools, picked, means_of(measured), strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def rank(squared: FloatArray, own: int) -> IntArray:
    """Order of candidates: those whose nearest mean is their own come first, then by how near and how distinct.

    Args:
        squared: float64 ``(candidates, classes)``, squared distances to the released means.
        own: Column of the candidates' class.
    """
    nearest, score = _score(squared, own)
    return np.lexsort((score, nearest < squared[:, own])).astype(np.int64)


def _score(squared: FloatArray, own: int) -> tuple[FloatArray, FloatArray]:
    """Squared distance to the nearest mean of another class, NaN without any, and the score, the lower the better."""
    others = np.delete(squared, own, axis=1)
    nearest = others.min(axis=1) if others.shape[1] else np.full(len(squared), np.nan)
    return nearest, squared[:, own] - REPULSION * np.nan_to_num(nearest)


def mark_best(squared: FloatArray, own: int, most: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark candidates that may be, and that surely are, among the first ``most`` of ``rank``, whoever rounds."""
    nearest, score = _score(squared, own)
    margin = np.nan_to_num(np.abs(nearest - squared[:, own]), nan=np.inf)
    slack = MACHINE_SHARE * float(np.nan_to_num(squared).max(initial=0.0))
    return mark_possible_and_sure(np.asarray(nearest < squared[:, own]), score, margin, most, slack)


def could_be_spread(points: FloatArray, surely: NDArray[np.bool_], indices: IntArray) -> bool:
    """True if picks could be those of ``spread``, rounding aside.

    Args:
        points: float64 ``(n, k)``.
        surely: bool ``(n,)``: candidates among which ``spread`` surely chose.
        indices: int64 ``(picks,)``, in the order in which they were picked.

    Returns:
        True if each pick is as far from those before it as any candidate that surely could have been taken instead.
    """
    gap = np.full(len(points), np.inf)
    left = surely.copy()
    step = MACHINE_STEP * float(np.linalg.norm(points, axis=1).max(initial=1e-6))
    for index in indices:
        farthest = float(gap[left].max(initial=0.0))
        # The square of a distance that is off by a step is off by twice their product, and by the step's square.
        slack = MACHINE_SHARE * farthest + 2 * step * math.sqrt(farthest) + step**2
        if np.isfinite(farthest) and gap[index] < farthest - slack:
            return False
        gap = np.minimum(gap, squared_distances(points[[index]], points)[0])
        left[index] = False
    return True


def spread(points: FloatArray, count: int) -> IntArray:
    """Greedy centres: the first point, then each time the one farthest from all chosen so far.

    Args:
        points: float64 ``(n, k)``, best first: ties go to the better.
        count: At most this many are chosen, none twice.
    """
    gap = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, squared_distances(points[[chosen[-1]]], points)[0])
        # Below 0: where only equal points are left, one that was not chosen yet comes before one that was.
        gap[chosen] = -1.0
    return np.array(chosen, dtype=np.int64)


def means_noise(events: Events, scope: Scope) -> float:
    """Standard deviation of the noise on each coordinate of a class mean, in clip radii of what is summed.

    Args:
        events: Those of the round that releases the means: one, clipped to R, or a centre's and then the deviations',
            clipped to R/2; one of them looks at private data.
    """
    last = [event for event in events if not event.free][-1]
    # In radii of what is summed, R or R/2: so both ways have the sensitivity of a sum in a ball (``sums``).
    return float(last.value) * bounded_sum_sensitivity(scope.relation) / scope.shots


def means_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """DP class means: a candidate at the private mean is among the tenth that lies in the released mean's direction.

    All candidates lie on the sphere of the clip radius r round the centre (R round a public one, R/2 round one that is
    released first), the best tenth at the private mean, the rest in random directions of many coordinates; as many are
    chosen as are best, so this share of the best that are chosen is the share of the chosen that are best. With noise
    s·r on each coordinate of the mean, the projection of a candidate on the released mean is normal, shifted by 1/s
    for the best: ``Φ(1/s - Φ⁻¹(0.9))``. The centre's own noise moves all candidates alike and is left out.
    """
    noise = means_noise(events, scope)
    share = best_tenth(scope.candidates) / scope.candidates
    if share == 1:  # a lone candidate
        return 1.0
    return normal_cdf(1 / noise - NormalDist().inv_cdf(1 - share))


METHOD = Method(
    name="dp-means",
    summary="DP class means: released once, around a centre, with Gaussian noise; all selections follow for free",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of the sums of clipped, publicly centred "
        "embeddings of all classes together, of L2 sensitivity R under add-remove and 2 R under replace-one, R being "
        "the public clip radius; every selection is post-processing of it"
    ),
    selector=Means,
    tight=gaussian_once,
    lift=means_lift,
    # Of the last access as it is unless a plan says otherwise, the deviations' from a centre: R/2, as ``centre_first``
    # promises below. The guarantee above is for all sums at once, R (``sums`` proves both).
    sensitivity=Sensitivity(deviation_sum_sensitivity, "clip radii R"),
    worst_case=moving_vote,
    rounds=always(0),
    delta=USUAL_DELTA,
    prototypes=10,
    schedule=Schedule(0.6, 0.4),
    initial=4,
    pool="all",
    keep="selected",
    appearance="auto",
    centre_first=(
        "(epsilon, delta)-DP by Gaussian differential privacy: two releases in publicly centred embeddings, the second "
        "chosen after seeing the first: the sum of all embeddings clipped to the public radius R, of L2 sensitivity R "
        "under add-remove and 2 R under replace-one, and the sums by class of their deviations from the centre that "
        "it gives, clipped to R/2, of all classes together, of L2 sensitivity R/2 under add-remove and R under "
        "replace-one; every selection is post-processing of them"
    ),
)
