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

from pcevolve.public.dp.calibration import (
    DEVIATION_RADIUS,
    bounded_sum_sensitivity,
    deviation_sum_sensitivity,
)
from pcevolve.public.dp.curves import normal_cdf
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import IntArray, find_firsts_of_equals, squared_distances
from pcevolve.public.geometry.frame import idle_step, is_rounded_to, project
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors.consistency import Order, has_shape, repeats
from pcevolve.public.selectors.control import best_tenth
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
        return frame.resembles(measured["centre"], measured["axes"])

    def is_picked(self, measured: Measurement, scene: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Candidates that are like their released mean, each as far as any from those before it, rounding aside."""
        return all(self._follows(measured, scene, target, each) for target, each in enumerate(picked))

    def _follows(self, measured: Measurement, scene: SelectionInput, target: int, picked: IntArray) -> bool:
        entrants, points = _project(measured, scene, target)
        squared = squared_distances(points, aims_of(measured))
        ruler = scene.ruler(measured)
        order = bound_rank(squared, target, ruler, find_firsts_of_equals(scene.pools[target][entrants]))
        most = _count_best(scene, len(entrants))
        distinct = min(scene.wanted, most)
        if not np.isin(picked, entrants).all() or not repeats(picked, distinct):
            return False
        indices = np.searchsorted(entrants, picked[:distinct])
        return bool(order.could_be_among(most)[indices].all()) and could_be_spread(
            points, order, order.are_among(most), indices, ruler
        )

    def _choose(self, measured: Measurement, scene: SelectionInput, target: int) -> IntArray:
        entrants, points = _project(measured, scene, target)
        ruler = scene.ruler(measured)
        order = rank(squared_distances(points, aims_of(measured)), target, ruler)
        best = order[: _count_best(scene, len(order))]
        return np.resize(entrants[best[spread(points[best], scene.wanted, ruler)]], scene.wanted)


def _project(measured: Measurement, scene: SelectionInput, target: int) -> tuple[IntArray, FloatArray]:
    """A class's candidates that can be chosen, int64 ``(n,)``, and their points, float64 ``(n, k)``."""
    entrants = scene.entrants(target)
    points = project(scene.pools[target][entrants], measured["centre"], measured["axes"])
    return entrants, np.nan_to_num(points)  # where none can be used, all are alike


def _count_best(scene: SelectionInput, entrants: int) -> int:
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
    return np.argsort(_score(steps, steps, own), kind="stable").astype(np.int64)


def bound_rank(squared: FloatArray, own: int, ruler: Ruler, first: IntArray) -> Order:
    """The order of ``rank`` as far as machines agree on it; ``first`` as of ``Order``."""
    low, high = ruler.bound_steps(np.sqrt(squared))
    return Order(_score(low, high, own), _score(high, low, own), first)


def _score(steps: FloatArray, repelled: FloatArray, own: int) -> FloatArray:
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


def could_be_spread(
    points: FloatArray, order: Order, best: NDArray[np.bool_], indices: IntArray, ruler: Ruler
) -> bool:
    """True if picks could be those of ``spread``, on a machine that rounds otherwise.

    Args:
        points: float64 ``(n, k)``.
        order: By which ``spread`` was given them.
        best: bool ``(n,)``: candidates among which it surely chose.
        indices: int64 ``(picks,)``, in the order in which they were picked.

    Returns:
        True if each pick is as far from those before it as any candidate that surely could have been taken instead.
    """
    fewest, most = np.full((2, len(points)), np.inf)
    left = np.ones(len(points), dtype=bool)
    for index in indices:
        twins = (order.first == order.first[index]) & (np.arange(len(points)) < index)
        rivals = best & ((fewest > most[index]) | ((fewest == most[index]) & order.surely_before(index)))
        if ((rivals | twins) & left).any():
            return False
        low, high = ruler.bound_steps(np.sqrt(squared_distances(points[[index]], points)[0]), moved=2)
        fewest, most = np.minimum(fewest, low), np.minimum(most, high)
        left[index] = False
    return True


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
