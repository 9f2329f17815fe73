"""DP class means (method ``dp-means``): each class's mean embedding is released once, and all choices follow from it.

The frame of reference (centre, axes, clip radius) is public: it is made from public images or from the synthetic
candidates of the first round. In this frame an image is a point in a ball of radius R, and a class is represented
by the sum of its images' points.
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
"""The share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""Weight of the nearest other class's mean, which repels candidates. At 1 and above, outliers would win."""
STRAY = 2.0**50
"""Penalty for a candidate that is nearer to another class's mean than to its own. It exceeds every other score."""


@dataclass(frozen=True)
class Means:
    """Releases class means once, by ``sums.AtOnce`` or ``sums.CentreFirst``. Every choice is post-processing."""

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Release class means in the public frame ``centre, axes``, which is stored with them (see ``means_of``).

        One event pays for all sums at once. Two events pay for a centre and for deviations from it. As the budget
        approaches zero, a class's released mean approaches the mean of the class's candidates.
        """
        # The frame is computed from public candidates before any private point is read. The sensitivity holds in
        # any frame.
        frame = inputs.coordinates
        released = choose_release(frame, inputs, events).release(private, noise)
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), **released}

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Pick distinct candidates of each class that are near its released mean and spread out."""
        return tuple(self._choose(measured, inputs, target) for target in range(len(inputs.labels)))

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """Return True if there are rounded means of all classes, in a frame that some machine may compute."""
        from pcevolve.public.selectors import means_checked  # the auditor's half, which no run loads

        return means_checked.could_measure(measured, inputs, events)

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Return True if the picks are near the released means and far from earlier picks, up to rounding."""
        from pcevolve.public.selectors import means_checked

        return means_checked.is_picked(measured, inputs, picked)

    def _choose(self, measured: Measurement, inputs: SelectionInput, target: int) -> IntArray:
        eligible, points = project_eligible(measured, inputs, target)
        ruler = inputs.ruler(measured)
        order = rank(squared_distances(points, aims_of(measured)), target, ruler)
        # Candidates near the mean are kept first. Spreading over all candidates would pick the strangest ones.
        best = order[: count_best(inputs, len(order))]
        # If there are fewer distinct candidates than wanted, they repeat in order. The size of the dataset stays as
        # planned, which is public.
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
    # At least the wanted number. Otherwise a small pool would repeat images although others are available.
    return min(max(inputs.wanted, math.ceil(BEST_SHARE * eligible)), eligible)


def means_of(measured: Measurement) -> FloatArray:
    """Return released class means, float64 ``(classes, k)``: measured directly, or as centre plus deviations."""
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"])


def aims_of(measured: Measurement) -> FloatArray:
    """Return the points at which choices aim, float64 ``(classes, k)``: the means, with stretched deviations.

    Clipping shrinks deviations to about half their length. The stretching undoes this, because candidates near the
    centre are typical of no class. On the development sets, stretching raised the share of correct classes among
    unlabelled real candidates by 1.6 to 6.4 points (decision 20).
    """
    if "means" in measured:
        return np.asarray(measured["means"])
    return np.asarray(measured["middle"] + measured["deviations"] / DEVIATION_RADIUS)


def distance_to_released_means(
    measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]
) -> float:
    """Return the mean distance between picks and the released mean of their class. It is smaller for better picks."""
    gaps = [
        squared_distances(project(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(inputs.pools, picked, means_of(measured), strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def rank(squared: FloatArray, own: int, ruler: Ruler) -> IntArray:
    """Order candidates by score: those that are nearer to their own class's mean than to any other come first.

    Args:
        squared: float64 ``(candidates, classes)``, squared distances to the released means.
        own: The column of the candidates' class.
    """
    # Compared in steps, because machines differ in the last digits of a distance, and the audit must reproduce the
    # order.
    steps = ruler.count_steps(np.sqrt(squared))
    return np.argsort(score(steps, steps, own), kind="stable").astype(np.int64)


def score(steps: FloatArray, repelled: FloatArray, own: int) -> FloatArray:
    """Return the scores of candidates, float64 ``(candidates,)``, in exact multiples of half a step. Lower is better.

    Args:
        steps: float64 ``(candidates, classes)``, distances. Only the column of the candidates' own mean is used.
        repelled: float64 ``(candidates, classes)``, distances. Only the nearest of the other means is used.
        own: The column of the candidates' class.
    """
    near, others = steps[:, own], np.delete(repelled, own, axis=1)
    # With a single class there is no other mean that could repel.
    if not others.shape[1]:
        return np.asarray(np.square(near))
    nearest = others.min(axis=1)
    return np.asarray(np.square(near) - REPULSION * np.square(nearest) + STRAY * (nearest < near))


def spread(points: FloatArray, count: int, ruler: Ruler) -> IntArray:
    """Choose greedy k-centres: the first point, then repeatedly the point farthest from all chosen points.

    Args:
        points: float64 ``(n, k)``, best first. The better point wins a tie.
        count: The largest number of points to choose. No point is chosen twice.
    """
    # All gaps are infinite at first, so the best candidate is chosen first.
    gap = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        chosen.append(int(gap.argmax()))
        near = ruler.count_steps(np.sqrt(squared_distances(points[[chosen[-1]]], points)[0]))
        gap = np.minimum(gap, near)
        # A chosen point gets -1. If only equal points remain, those not yet chosen come first.
        gap[chosen] = -1.0
    return np.array(chosen, dtype=np.int64)


def means_noise(events: Events, scope: Scope) -> float:
    """Return the noise's standard deviation on each coordinate of a class mean, in clip radii of the summed points.

    Args:
        events: Events of the round that releases the means. A single event pays for points clipped to R. Of two
            events, the first pays for the centre, and the second for deviations clipped to R/2. At least one event
            reads private data.
    """
    # The last event pays for the class means or their deviations. An earlier one pays for the centre of all classes.
    last = [event for event in events if not event.free][-1]
    # In clip radii of the summed points (R or R/2), both releases have the sensitivity of a sum in a ball (``sums``).
    return scope.noise_factor * float(last.value) * bounded_sum_sensitivity(scope.relation) / scope.shots


def means_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of DP class means: the probability that a chosen candidate is at the private mean.

    All candidates lie on the sphere of the clip radius r round the centre. r is R for a public centre and R/2 for a
    released centre. The best tenth is at the private mean, and the rest is in random directions of many
    coordinates. The number of chosen candidates equals the number of the best, so the share of the best that are
    chosen equals the share of the chosen that are best. The noise on each coordinate of the mean is s·r. A
    candidate's projection on the released mean is then normal and is shifted by 1/s for the best, which gives
    ``Φ(1/s - Φ⁻¹(0.9))``. The noise of the centre moves all candidates equally and is left out.
    """
    noise = means_noise(events, scope)
    share = best_tenth(scope.candidates) / scope.candidates
    if share == 1:  # a lone candidate
        return 1.0
    return normal_cdf(1 / noise - NormalDist().inv_cdf(1 - share))


METHOD = Method(
    name="dp-means",
    summary="Class means are released once, with Gaussian noise. Selecting from them costs no further privacy",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy. The release of the class means contains, for each "
        "class, the sum of its embeddings. A public centre is subtracted from each embedding, and the difference is "
        "clipped. The sums of all classes together have L2 sensitivity R under add-remove and 2 R under replace-one, "
        "where R is the public clip radius. Every selection is post-processing of this release"
    ),
    selector=Means,
    tight=gaussian_once,
    lift=means_lift,
    # By default the sensitivity of the last access, the deviations from a centre: R/2, as ``centre_first`` promises
    # below. The guarantee above is for all sums at once, which is R. ``sums`` proves both.
    sensitivity=Sensitivity(deviation_sum_sensitivity, "clip radii R"),
    worst_case=moving_vote,
    # No rounds by default: three rounds added 1.6 ± 1.2 points over 50 pairs (docs/results/worth.md), and they send
    # images back.
    rounds=always(0),
    prototypes=10,
    schedule=Schedule(0.6, 0.4),
    # Four candidates for each image of the dataset, so that there is a choice without rounds.
    initial=4,
    pool="all",
    keep="selected",
    appearance="auto",
    centre_first=(
        "(epsilon, delta)-DP by Gaussian differential privacy. The release of the class means consists of two noisy "
        "parts. Both are computed from embeddings from which a public centre was subtracted. The first part is the sum "
        "of all embeddings, each clipped to the public radius R. Its L2 sensitivity is R under add-remove and 2 R "
        "under replace-one. The first part gives the centre of all classes. The second part contains, for each class, "
        "the sum of the deviations from that centre, each clipped to R/2. The L2 sensitivity of all classes together "
        "is R/2 under add-remove and R under replace-one. Every selection is post-processing of this release"
    ),
)
