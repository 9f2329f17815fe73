"""DP class means (method ``dp-means``): what each class looks like, released once; all choices follow from it.

The frame of reference (centre, axes, clip radius) is made from the synthetic candidates of the first round alone, so
it is public. In it a record is a point of a ball of radius R, and a class is the sum of its records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..budget.calibration import mean_sensitivity
from ..budget.mechanisms import FloatArray, Noise
from ..privacy import Event
from .scene import IntArray, Measurement, Records, Scene, deviation, expect, squared_distances

AXES = 16
"""Principal axes of the candidates that are kept: noise is the same on each, and the first ones tell the most."""
ROOM = 1e-8
"""Share of the clip radius left to float64 rounding of the sums, which is far below it for 10**5 records."""
BEST = 0.1
"""Share of a class's candidates among which diversity decides."""
REPULSION = 0.5
"""How much the nearest other class's mean repels; at 1 and more, outliers would be the best."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Public coordinates.

    Attributes:
        centre: float64 ``(d,)``.
        axes: float64 ``(d, k)``, orthonormal columns.
        radius: R > 0: the ball that private points are clipped to.
        variances: float64 ``(k,)`` of the candidates, by axis.
    """

    centre: FloatArray
    axes: FloatArray
    radius: float
    variances: FloatArray

    @classmethod
    def of(cls, candidates: FloatArray, most: int = AXES) -> Self:
        """Mean, first principal axes and median norm of candidates, float64 ``(n, d)``."""
        rows = candidates[np.isfinite(candidates).all(axis=1)]
        if not len(rows):  # nothing to choose between either
            width = candidates.shape[1]
            return cls(np.zeros(width), np.eye(width, most), 1.0, np.ones(min(width, most)))
        centre = rows.mean(axis=0)
        axes = np.linalg.svd(rows - centre, full_matrices=False)[2][:most].T
        points = (rows - centre) @ axes
        radius = float(np.median(np.linalg.norm(points, axis=1)))
        return cls(centre, axes, radius if radius > 0 else 1.0, points.var(axis=0))

    def points(self, embeddings: FloatArray) -> FloatArray:
        """Coordinates of embeddings, float64 ``(n, k)``."""
        return projected(embeddings, self.centre, self.axes)

    def trust(self, deviation: float) -> FloatArray:
        """How much of a noisy coordinate to keep, float64 ``(k,)``: little where candidates differ less than noise."""
        return np.asarray(self.variances / (self.variances + deviation**2))


@dataclass(frozen=True)
class Means:
    """One Gaussian release of the sums of all classes; every choice after it is post-processing.

    A unit adds to the sums of all classes together the mean of its records' clipped points, a vector of L2 norm at
    most R, so the L2 sensitivity is R under ``add-remove`` and 2R under ``replace-one``.
    """

    def measure(self, records: Records, scene: Scene, event: Event, noise: Noise) -> Measurement:
        """Release ``means``, float64 ``(classes, k)``, in the public frame ``centre, axes`` that is stored with them.

        They are noisy sums over nominal K, drawn to the mean of the class's own candidates by as much as noise makes
        them uncertain: with no budget at all, a class looks as its prompt says.
        """
        expect(event, "gaussian")
        frame = Frame.of(np.concatenate(scene.pools))
        sigma = deviation(event, frame.radius * mean_sensitivity(scene.relation))
        noisy = noise.gaussian(f"{scene.key}/means", self.sums(records, scene, frame), sigma) / scene.shots
        prior = np.array([typical(frame.points(pool)) for pool in scene.pools])
        means = prior + (noisy - prior) * frame.trust(sigma / scene.shots)
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), "means": means}

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """Of each class, different candidates that are like its released mean, and not all alike."""
        return tuple(self._chosen(measured, scene, target) for target in range(len(scene.labels)))

    def sums(self, records: Records, scene: Scene, frame: Frame) -> FloatArray:
        """Sums of clipped points, float64 ``(classes, k)``, correctly rounded, without noise: private."""
        points = clipped(frame.points(records.embeddings), frame.radius * (1 - ROOM))
        points *= records.shares()[:, None]
        by_class = (points[records.targets == target] for target in range(len(scene.labels)))
        return np.array([[math.fsum(column) for column in each.T] for each in by_class])

    def _chosen(self, measured: Measurement, scene: Scene, target: int) -> IntArray:
        entrants = scene.entrants(target)
        points = projected(scene.pools[target][entrants], measured["centre"], measured["axes"])
        order = ranked(squared_distances(points, measured["means"]), target)
        best = order[: max(scene.wanted, math.ceil(BEST * len(order)))]
        return np.resize(entrants[best[spread(points[best], scene.wanted)]], scene.wanted)


def misfit(measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> float:
    """Mean distance of what was picked to the released means of its classes: of two looks, the nearer is the better."""
    gaps = [
        squared_distances(projected(pool[rows], measured["centre"], measured["axes"]), mean[None])
        for pool, rows, mean in zip(scene.pools, picked, measured["means"], strict=True)
    ]
    return float(np.mean([np.sqrt(gap).mean() for gap in gaps]))


def projected(embeddings: FloatArray, centre: FloatArray, axes: FloatArray) -> FloatArray:
    """Coordinates, float64 ``(n, k)``; each row is a function of that embedding alone, bit for bit."""
    with np.errstate(invalid="ignore", over="ignore"):
        rows = [((row - centre)[:, None] * axes).sum(axis=0) for row in embeddings]
    return np.array(rows).reshape(-1, axes.shape[1])


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
