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

from pcevolve.public.dp.calibration import (
    DEVIATION_RADIUS,
    bounded_sum_sensitivity,
    deviation_sum_sensitivity,
)
from pcevolve.public.dp.curves import normal_cdf
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import IntArray, squared_distances
from pcevolve.public.geometry.frame import project
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors.lifts import best_tenth
from pcevolve.public.selectors.method import Method, Schedule, Sensitivity, always
from pcevolve.public.selectors.rounds import Scope, gaussian_once
from pcevolve.public.selectors.scene import Measurement, PrivateEmbeddings, SelectionInput, moving_vote
from pcevolve.public.selectors.sums import choose_release

BEST_SHARE = 0.1
"""Share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""How much the nearest other class's mean repels; at 1 and more, outliers would be the best."""
STRAY = 2.0**50
"""Added to the score of a candidate to which another class's mean is nearer: more than any other score, and exact."""


@dataclass(frozen=True)
class Means:
    """Class means are released once, by ``sums.AtOnce`` or ``sums.CentreFirst``; every choice is post-processing."""

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Release class means in the public frame ``centre, axes`` that is stored with them; see ``means_of``.

        One event pays for all sums at once; two pay for a centre and for deviations from it. With no budget at all, a
        class looks as its prompt says.
        """
        # Fixed by public candidates before the first private point is read; sensitivity holds in any frame.
        frame = scene.coordinates
        released = choose_release(frame, scene, events).release(private, noise)
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), **released}

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[IntArray, ...]:
        """Of each class, different candidates that are like its released mean, and not all alike."""
        return tuple(self._choose(measured, scene, target) for target in range(len(scene.labels)))

    def could_measure(self, measured: Measurement, scene: SelectionInput, events: Events) -> bool:
        """True for means of all classes, without idle digits, in the public frame as this or another machine has it."""
        from pcevolve.public.selectors import means_checked  # the auditor's half, which no run loads

        return means_checked.could_measure(measured, scene, events)

    def is_picked(self, measured: Measurement, scene: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Candidates that are like their released mean, each as far as any from those before it, rounding aside."""
        from pcevolve.public.selectors import means_checked

        return means_checked.is_picked(measured, scene, picked)

    def _choose(self, measured: Measurement, scene: SelectionInput, target: int) -> IntArray:
        entrants, points = project_entrants(measured, scene, target)
        ruler = scene.ruler(measured)
        order = rank(squared_distances(points, aims_of(measured)), target, ruler)
        best = order[: count_best(scene, len(order))]
        return np.resize(entrants[best[spread(points[best], scene.wanted, ruler)]], scene.wanted)


def project_entrants(
    measured: Measurement, scene: SelectionInput, target: int
) -> tuple[IntArray, FloatArray]:
    """A class's candidates that can be chosen, int64 ``(n,)``, and their points, float64 ``(n, k)``."""
    entrants = scene.entrants(target)
    points = project(scene.pools[target][entrants], measured["centre"], measured["axes"])
    return entrants, np.nan_to_num(points)  # where none can be used, all are alike


def count_best(scene: SelectionInput, entrants: int) -> int:
    """Candidates among which diversity decides."""
    return min(max(scene.wanted, math.ceil(BEST_SHARE * entrants)), entrants)


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


def distance_to_released_means(
    measured: Measurement, scene: SelectionInput, picked: Sequence[IntArray]
) -> float:
    """Mean distance of picks to the released means of their classes; of two renditions, the nearer one is better."""
    gaps = [
        squared_distances(project(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(scene.pools, picked, means_of(measured), strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def rank(squared: FloatArray, own: int, ruler: Ruler) -> IntArray:
    """Order of candidates: those whose nearest mean is their own come first, then by how near and how distinct.

    Args:
        squared: float64 ``(candidates, classes)``, squared distances to the released means.
        own: Column of the candidates' class.
    """
    steps = ruler.count_steps(np.sqrt(squared))
    return np.argsort(score(steps, steps, own), kind="stable").astype(np.int64)


def score(steps: FloatArray, repelled: FloatArray, own: int) -> FloatArray:
    """The lower the better, float64 ``(candidates,)``: in whole and half steps, so that no machine rounds it.

    Args:
        steps: float64 ``(candidates, classes)``: distances of which the own mean's counts.
        repelled: Those of which the nearest other mean's counts.
        own: Column of the candidates' class.
    """
    near, others = steps[:, own], np.delete(repelled, own, axis=1)
    if not others.shape[1]:
        return np.asarray(np.square(near))
    nearest = others.min(axis=1)
    return np.asarray(np.square(near) - REPULSION * np.square(nearest) + STRAY * (nearest < near))


def spread(points: FloatArray, count: int, ruler: Ruler) -> IntArray:
    """Greedy centres: the first point, then each time the one farthest from all chosen so far.

    Args:
        points: float64 ``(n, k)``, best first: ties go to the better.
        count: At most this many are chosen, none twice.
    """
    gap = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        chosen.append(int(gap.argmax()))
        near = ruler.count_steps(np.sqrt(squared_distances(points[[chosen[-1]]], points)[0]))
        gap = np.minimum(gap, near)
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
