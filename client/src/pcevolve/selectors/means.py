"""DP class means (method ``dp-means``): the mean embedding of each class, released once; all choices follow from it.

The frame of reference (centre, axes, clip radius) is made from the synthetic candidates of the first round alone, so
it is public. In it an image is a point of a ball of radius R, and a class is the sum of its images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.dp.sensitivity import bounded_sum_sensitivity
from pcevolve.privacy import Event
from pcevolve.selectors.coarse import idle_step, is_coarse, without_idle_digits
from pcevolve.selectors.following import MACHINE_SHARE, are_possible, has_form, repeats
from pcevolve.selectors.frame import Frame, projected
from pcevolve.selectors.scene import (
    IntArray,
    Measurement,
    PrivateEmbeddings,
    Scene,
    deviation,
    expect,
    squared_distances,
)

ROUNDING_SHARE = 1e-8
"""Of the clip radius, left to float64 rounding of the sums, which is far below it for 10**5 images."""
BEST_SHARE = 0.1
"""Share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""How much the nearest other class's mean repels; at 1 and more, outliers would be the best."""


@dataclass(frozen=True)
class Means:
    """One Gaussian release of the sums of all classes; every choice after it is post-processing.

    A unit adds to the sums of all classes together the mean of its images' clipped points, a vector of L2 norm at
    most R, so the L2 sensitivity is R under ``add-remove`` and 2R under ``replace-one``.
    """

    def measure(self, private: PrivateEmbeddings, scene: Scene, event: Event, noise: Noise) -> Measurement:
        """Release ``means``, float64 ``(classes, k)``, in the public frame ``centre, axes`` that is stored with them.

        They are noisy sums over nominal K, drawn to the mean of the class's own candidates by as much as noise makes
        them uncertain: with no budget at all, a class looks as its prompt says.
        """
        expect(event, "gaussian")
        frame = Frame.of(np.concatenate(scene.pools))
        sigma = deviation(event, frame.radius * bounded_sum_sensitivity(scene.relation))
        noisy = noise.gaussian(f"{scene.key}/means", self.sums(private, scene, frame), sigma) / scene.shots
        prior = np.array([typical(frame.points(pool)) for pool in scene.pools])
        means = prior + (noisy - prior) * frame.trust(sigma / scene.shots)
        means = without_idle_digits(means, self.doubt(frame, scene, event))
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), "means": means}

    def doubt(self, frame: Frame, scene: Scene, event: Event) -> FloatArray:
        """Standard deviation of the noise in what is released, float64 ``(k,)``: digits far below it say nothing."""
        sigma = deviation(event, frame.radius * bounded_sum_sensitivity(scene.relation))
        return frame.doubt(sigma / scene.shots)

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """Of each class, different candidates that are like its released mean, and not all alike."""
        return tuple(self._chosen(measured, scene, target) for target in range(len(scene.labels)))

    def rounding_bits(self, measured: Measurement, scene: Scene, event: Event) -> int | None:
        """Check that means of all classes are on record, without idle digits, in the frame of the candidates.

        Returns:
            0 where this machine has the same frame, bit for bit; where it rounds otherwise, what it takes to choose
            one of three values for each number of the frame; None if the record is not of this form.
        """
        frame = Frame.of(np.concatenate(scene.pools))
        width, most = frame.axes.shape
        form = {
            "centre": (np.float64, (width,)),
            "axes": (np.float64, (width, most)),
            "means": (np.float64, (len(scene.labels), most)),
        }
        step = idle_step(self.doubt(frame, scene, event)) / 2  # a doubt may lie at a power of two
        if not has_form(measured, form) or not is_coarse(measured["means"], step):
            return None
        return frame.rounding_bits(measured["centre"], measured["axes"])

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """Candidates that are like their released mean, each as far as any from those before it, rounding aside."""
        return all(self._follows(measured, scene, target, each) for target, each in enumerate(picked))

    def _follows(self, measured: Measurement, scene: Scene, target: int, picked: IntArray) -> bool:
        entrants = scene.entrants(target)
        points = projected(scene.pools[target][entrants], measured["centre"], measured["axes"])
        points = np.nan_to_num(points)  # where none can be used, all are alike
        squared = squared_distances(points, measured["means"])
        most = min(max(scene.wanted, math.ceil(BEST_SHARE * len(entrants))), len(entrants))
        possible, surely = best(squared, target, most)
        first, _ = best(squared, target, 1)
        distinct = min(scene.wanted, most)
        indices = np.searchsorted(entrants, picked[:distinct])
        known = bool(np.isin(picked, entrants).all()) and repeats(picked, distinct)
        return (
            known
            and bool(first[indices[0]])
            and bool(possible[indices].all())
            and is_spread(points, surely, indices)
        )

    def sums(self, private: PrivateEmbeddings, scene: Scene, frame: Frame) -> FloatArray:
        """Sums of clipped points, float64 ``(classes, k)``, correctly rounded, without noise: private."""
        points = clipped(frame.points(private.embeddings), frame.radius * (1 - ROUNDING_SHARE))
        points *= private.shares()[:, None]
        by_class = (points[private.targets == target] for target in range(len(scene.labels)))
        return np.array([[math.fsum(column) for column in each.T] for each in by_class])

    def _chosen(self, measured: Measurement, scene: Scene, target: int) -> IntArray:
        entrants = scene.entrants(target)
        points = projected(scene.pools[target][entrants], measured["centre"], measured["axes"])
        order = ranked(squared_distances(points, measured["means"]), target)
        best = order[: max(scene.wanted, math.ceil(BEST_SHARE * len(order)))]
        return np.resize(entrants[best[spread(points[best], scene.wanted)]], scene.wanted)


def misfit(measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> float:
    """Mean distance of picks to the released means of their classes; of two renditions, the nearer one is better."""
    gaps = [
        squared_distances(projected(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(scene.pools, picked, measured["means"], strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def typical(points: FloatArray) -> FloatArray:
    """Mean of the points that are finite, float64 ``(k,)``; the centre if none is."""
    rows = points[np.isfinite(points).all(axis=1)]
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(points.shape[1]))


def clipped(points: FloatArray, radius: float) -> FloatArray:
    """Points of L2 norm at most ``radius``; those outside are moved to the surface."""
    norms = np.sqrt(np.square(points).sum(axis=1))
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None])


def ranked(squared: FloatArray, own: int) -> IntArray:
    """Order of candidates: those whose nearest mean is their own come first, then by how near and how distinct.

    Args:
        squared: float64 ``(candidates, classes)``, squared distances to the released means.
        own: Column of the candidates' class.
    """
    others = np.delete(squared, own, axis=1)
    nearest = others.min(axis=1) if others.shape[1] else np.full(len(squared), np.nan)
    strays = nearest < squared[:, own]
    score = squared[:, own] - REPULSION * np.nan_to_num(nearest)
    return np.lexsort((score, strays)).astype(np.int64)


def best(squared: FloatArray, own: int, most: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which candidates may be, and which surely are, among the first ``most`` of ``ranked``, whoever rounds."""
    others = np.delete(squared, own, axis=1)
    nearest = others.min(axis=1) if others.shape[1] else np.full(len(squared), np.nan)
    score = squared[:, own] - REPULSION * np.nan_to_num(nearest)
    margin = np.nan_to_num(np.abs(nearest - squared[:, own]), nan=np.inf)
    slack = MACHINE_SHARE * float(np.nan_to_num(squared).max(initial=0.0))
    return are_possible(np.asarray(nearest < squared[:, own]), score, margin, most, slack)


def is_spread(points: FloatArray, surely: NDArray[np.bool_], indices: IntArray) -> bool:
    """Whether picks could be those of ``spread``, rounding aside.

    Args:
        points: float64 ``(n, k)``.
        surely: bool ``(n,)``: candidates among which ``spread`` surely chose.
        indices: int64 ``(picks,)``, in the order in which they were picked.

    Returns:
        True if each pick is as far from those before it as any candidate that surely could have been taken instead.
    """
    gap = np.full(len(points), np.inf)
    left = surely.copy()
    for index in indices:
        farthest = float(gap[left].max(initial=0.0))
        if np.isfinite(farthest) and gap[index] < farthest - MACHINE_SHARE * max(farthest, 1e-12):
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
        gap[chosen] = -1.0
    return np.array(chosen, dtype=np.int64)
