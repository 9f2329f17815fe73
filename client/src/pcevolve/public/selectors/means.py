"""DP class means (method ``dp-means``): the mean embedding of each class, released once; all choices follow from it.

The frame of reference (centre, axes, clip radius) is made from public images or from the synthetic candidates
of the first round, so it is public. In it an image is a point in a ball of radius R, and a class is the sum
of its images.
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
from pcevolve.public.selectors.method import Method, Schedule, Sensitivity, always
from pcevolve.public.selectors.rounds import Scope, best_tenth, gaussian_once
from pcevolve.public.selectors.selection import Measurement, PrivateEmbeddings, SelectionInput, moving_vote
from pcevolve.public.selectors.sums import choose_release

BEST_SHARE = 0.1
"""Share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""Weight of the nearest other class's mean, which repels; from 1 on, outliers would win."""
STRAY = 2.0**50
"""Penalty for a candidate that lies nearer to another class's mean: above any other score, and exact."""


@dataclass(frozen=True)
class Means:
    """Releases class means once, by ``sums.AtOnce`` or ``sums.CentreFirst``; every choice is post-processing."""

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Release class means in the public frame ``centre, axes`` that is stored with them; see ``means_of``.

        One event pays for all sums at once; two pay for a centre and for deviations from it. As the budget
        goes to zero, a class's mean goes to that of its prompt's candidates.
        """
        # The frame is fixed from public candidates before the first private point is read; the sensitivity
        # holds in any frame.
        frame = inputs.coordinates
        released = choose_release(frame, inputs, events).release(private, noise)
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), **released}

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Pick distinct candidates of each class that are near its released mean and spread out."""
        return tuple(self._choose(measured, inputs, target) for target in range(len(inputs.labels)))

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """True for means of all classes, rounded to the noise's scale, in this or another machine's public frame."""
        from pcevolve.public.selectors import means_checked  # the auditor's half, which no run loads

        return means_checked.could_measure(measured, inputs, events)

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """True for candidates near their class's released mean, each far from those before it, up to rounding."""
        from pcevolve.public.selectors import means_checked

        return means_checked.is_picked(measured, inputs, picked)

    def _choose(self, measured: Measurement, inputs: SelectionInput, target: int) -> IntArray:
        eligible, points = project_eligible(measured, inputs, target)
        ruler = inputs.ruler(measured)
        order = rank(squared_distances(points, aims_of(measured)), target, ruler)
        # First near the mean, then spread: among all candidates, the most distant ones would be the
        # strangest.
        best = order[: count_best(inputs, len(order))]
        # If fewer differ than are wanted, they repeat in order; the dataset keeps its planned size, which is
        # public.
        return np.resize(eligible[best[spread(points[best], inputs.wanted, ruler)]], inputs.wanted)


def project_eligible(
    measured: Measurement, inputs: SelectionInput, target: int
) -> tuple[IntArray, FloatArray]:
    """Return a class's eligible candidates, int64 ``(n,)``, and their points, float64 ``(n, k)``."""
    eligible = inputs.eligible(target)
    points = project(inputs.pools[target][eligible], measured["centre"], measured["axes"])
    return eligible, np.nan_to_num(points)  # where none can be used, all are alike


def count_best(inputs: SelectionInput, eligible: int) -> int:
    """Return the number of best candidates among which diversity decides."""
    # At least as many as are wanted, or a small pool would repeat images although others are left.
    return min(max(inputs.wanted, math.ceil(BEST_SHARE * eligible)), eligible)


def means_of(measured: Measurement) -> FloatArray:
    """Return released class means, float64 ``(classes, k)``: measured directly, or as centre plus deviations."""
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"])


def aims_of(measured: Measurement) -> FloatArray:
    """Return the points that choices aim at, float64 ``(classes, k)``: means, their deviations from a centre stretched.

    Clipping deviations to half the radius shrinks them by about that factor, and candidates near the centre
    belong to no class. On the development sets stretching raised the share of right ones among unlabelled
    real candidates by 1.6 to 6.4 points (decision 20).
    """
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"] / DEVIATION_RADIUS)


def distance_to_released_means(
    measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]
) -> float:
    """Return the mean distance of picks to their class's released mean; of two renditions, the nearer one is better."""
    gaps = [
        squared_distances(project(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(inputs.pools, picked, means_of(measured), strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def rank(squared: FloatArray, own: int, ruler: Ruler) -> IntArray:
    """Order candidates: first those whose nearest mean is their own class's, then by nearness and distinctness.

    Args:
        squared: float64 ``(candidates, classes)``, squared distances to the released means.
        own: Column of the candidates' class.
    """
    # Compared in whole steps: machines differ in the last digits of a distance, and the audit must come to
    # the same order.
    steps = ruler.count_steps(np.sqrt(squared))
    return np.argsort(score(steps, steps, own), kind="stable").astype(np.int64)


def score(steps: FloatArray, repelled: FloatArray, own: int) -> FloatArray:
    """Score candidates, lower is better, float64 ``(candidates,)``, in whole and half steps, exact on every machine.

    Args:
        steps: float64 ``(candidates, classes)``, distances; the column of the own mean is used.
        repelled: float64 ``(candidates, classes)``, distances; the nearest other mean's is used.
        own: Column of the candidates' class.
    """
    near, others = steps[:, own], np.delete(repelled, own, axis=1)
    # A single class has no other mean that could repel.
    if not others.shape[1]:
        return np.asarray(np.square(near))
    nearest = others.min(axis=1)
    return np.asarray(np.square(near) - REPULSION * np.square(nearest) + STRAY * (nearest < near))


def spread(points: FloatArray, count: int, ruler: Ruler) -> IntArray:
    """Choose greedy k-centres: the first point, then repeatedly the one farthest from all chosen so far.

    Args:
        points: float64 ``(n, k)``, best first: ties go to the better.
        count: Most points to choose, none twice.
    """
    # All gaps are infinite at first, so the first choice is the best candidate.
    gap = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        chosen.append(int(gap.argmax()))
        near = ruler.count_steps(np.sqrt(squared_distances(points[[chosen[-1]]], points)[0]))
        gap = np.minimum(gap, near)
        # Below 0: if only equal points remain, one that was not chosen yet precedes one that was.
        gap[chosen] = -1.0
    return np.array(chosen, dtype=np.int64)


def means_noise(events: Events, scope: Scope) -> float:
    """Return the noise's standard deviation on each coordinate of a class mean, in clip radii of the summed points.

    Args:
        events: Events of the round that releases the means: one, clipped to R, or the centre's and then the
            deviations', clipped to R/2. At least one looks at private data.
    """
    # The last event pays for the class means or their deviations; an earlier one pays for the centre, which
    # is common to all classes.
    last = [event for event in events if not event.free][-1]
    # In clip radii of the summed points, R or R/2, both ways have the sensitivity of a sum in a ball
    # (``sums``).
    return scope.noise_factor * float(last.value) * bounded_sum_sensitivity(scope.relation) / scope.shots


def means_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of DP class means: is a candidate at the private mean near the released mean's direction?

    All candidates lie on the sphere of the clip radius r round the centre (R round a public centre, R/2 round
    a released one): the best tenth at the private mean, the rest in random directions of many coordinates. As
    many are chosen as are best, so the share of the best that are chosen equals the share of the chosen that
    are best. With noise s·r on each coordinate of the mean, a candidate's projection on the released mean is
    normal, shifted by 1/s for the best: ``Φ(1/s - Φ⁻¹(0.9))``. The centre's own noise moves all candidates
    alike and is left out.
    """
    noise = means_noise(events, scope)
    share = best_tenth(scope.candidates) / scope.candidates
    if share == 1:  # a lone candidate
        return 1.0
    return normal_cdf(1 / noise - NormalDist().inv_cdf(1 - share))


METHOD = Method(
    name="dp-means",
    summary="Class means are released once, with Gaussian noise; selecting from them costs no more privacy",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of the sums of clipped, publicly centred "
        "embeddings of all classes together, of L2 sensitivity R under add-remove and 2 R under replace-one, R being "
        "the public clip radius; every selection is post-processing of it"
    ),
    selector=Means,
    tight=gaussian_once,
    lift=means_lift,
    # The sensitivity of the last access by default, the deviations' from a centre: R/2, as ``centre_first``
    # promises below. The guarantee above is for all sums at once, R (``sums`` proves both).
    sensitivity=Sensitivity(deviation_sum_sensitivity, "clip radii R"),
    worst_case=moving_vote,
    # No round by default: three rounds added 1.6 ± 1.2 points over 50 pairs (docs/results/worth.md), and they
    # send images back.
    rounds=always(0),
    prototypes=10,
    schedule=Schedule(0.6, 0.4),
    # Four candidates for each image of the dataset, so that there is something to choose from without rounds.
    initial=4,
    pool="all",
    keep="selected",
    appearance="auto",
    centre_first=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release, of two noisy parts in publicly centred "
        "embeddings. The first part is the sum of all embeddings, clipped to the public radius R; its L2 sensitivity "
        "is R under add-remove and 2 R under replace-one, and it gives the centre. The second part, which depends on "
        "the first, consists of the sums by class of the deviations from that centre, each clipped to R/2; the L2 "
        "sensitivity of all classes together is R/2 under add-remove and R under replace-one. Every selection is "
        "post-processing of this release"
    ),
)
