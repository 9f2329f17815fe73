"""DP class means (method ``dp-means``): what each class looks like, released once; all choices follow from it.

The frame of reference (centre, axes, clip radius) is made from the synthetic candidates of the first round alone, so
it is public. In it a record is a point of a ball of radius R, and a class is the sum of its records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...budget.calibration import mean_sensitivity
from ...budget.mechanisms import FloatArray, Noise
from ...privacy import Event
from .scene import IntArray, Measurement, Records, Scene, deviation, distances, expect

AXES = 16
"""Principal axes of the candidates that are kept: noise is the same on each, and the first ones tell the most."""
ROOM = 1e-8
"""Share of the clip radius left to float64 rounding of the sums, which is far below it for 10**5 records."""
BEST = 0.5
"""Share of a class's candidates among which diversity decides."""
MOST_COMPARED = 2_000
"""Beyond this many, which take half a minute to compare with each other, rank alone decides."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Public coordinates.

    Attributes:
        centre: float64 ``(d,)``.
        axes: float64 ``(d, k)``, orthonormal columns.
        radius: R > 0: the ball that private points are clipped to.
    """

    centre: FloatArray
    axes: FloatArray
    radius: float

    @classmethod
    def of(cls, candidates: FloatArray, most: int = AXES) -> Self:
        """Mean, first principal axes and median norm of candidates, float64 ``(n, d)``."""
        rows = candidates[np.isfinite(candidates).all(axis=1)]
        if not len(rows):  # nothing to choose between either
            return cls(np.zeros(candidates.shape[1]), np.eye(candidates.shape[1], most), 1.0)
        centre = rows.mean(axis=0)
        axes = np.linalg.svd(rows - centre, full_matrices=False)[2][:most].T
        radius = float(np.median(np.linalg.norm((rows - centre) @ axes, axis=1)))
        return cls(centre, axes, radius if radius > 0 else 1.0)

    def points(self, embeddings: FloatArray) -> FloatArray:
        """Coordinates, float64 ``(n, k)``; each row is a function of that embedding alone, bit for bit."""
        with np.errstate(invalid="ignore", over="ignore"):
            rows = [((row - self.centre)[:, None] * self.axes).sum(axis=0) for row in embeddings]
        return np.array(rows).reshape(-1, self.axes.shape[1])


@dataclass(frozen=True)
class Means:
    """One Gaussian release of the sums of all classes; every choice after it is post-processing.

    A unit adds to the sums of all classes together the mean of its records' clipped points, a vector of L2 norm at
    most R, so the L2 sensitivity is R under ``add-remove`` and 2R under ``replace-one``.
    """

    def measure(self, records: Records, scene: Scene, event: Event, noise: Noise) -> Measurement:
        """Release ``means``, float64 ``(classes, k)``: sums over nominal K; with its ``centre, axes, radius``."""
        expect(event, "gaussian")
        frame = Frame.of(np.concatenate(scene.pools))
        sigma = deviation(event, frame.radius * mean_sensitivity(scene.relation))
        sums = noise.gaussian(f"{scene.key}/means", self.sums(records, scene, frame), sigma)
        radius = np.array([frame.radius])
        return {
            "centre": frame.centre,
            "axes": frame.axes.copy(),
            "radius": radius,
            "means": sums / scene.shots,
        }

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """Of each class, different candidates that are like its released mean and cover what is like it."""
        frame = Frame(measured["centre"], measured["axes"], float(measured["radius"][0]))
        return tuple(
            self._chosen(frame, measured["means"], scene, target) for target in range(len(scene.labels))
        )

    def sums(self, records: Records, scene: Scene, frame: Frame) -> FloatArray:
        """Sums of clipped points, float64 ``(classes, k)``, correctly rounded, without noise: private."""
        points = clipped(frame.points(records.embeddings), frame.radius * (1 - ROOM))
        points *= records.shares()[:, None]
        by_class = (points[records.targets == target] for target in range(len(scene.labels)))
        return np.array([[math.fsum(column) for column in each.T] for each in by_class])

    def _chosen(self, frame: Frame, means: FloatArray, scene: Scene, target: int) -> IntArray:
        entrants = scene.entrants(target)
        points = frame.points(scene.pools[target][entrants])
        order = ranked(distances(points, means), target)
        best = order[: max(scene.wanted, math.ceil(BEST * len(order)))]
        if len(best) <= MOST_COMPARED:
            best = best[spread(points[best], scene.wanted)]
        return np.resize(entrants[best], scene.wanted)


def clipped(points: FloatArray, radius: float) -> FloatArray:
    """Points of L2 norm at most ``radius``; those outside are moved to the surface."""
    norms = np.sqrt(np.square(points).sum(axis=1))
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None])


def ranked(distance: FloatArray, own: int) -> IntArray:
    """Order of candidates: those whose nearest mean is their own come first, then by distance to it.

    Args:
        distance: float64 ``(candidates, classes)`` to the released means.
        own: Column of the candidates' class.
    """
    strays = distance.min(axis=1) < distance[:, own]
    return np.lexsort((distance[:, own], strays)).astype(np.int64)


def spread(points: FloatArray, count: int) -> IntArray:
    """Greedy medoids: each next one most reduces the sum of distances from all points to the nearest chosen one.

    Args:
        points: float64 ``(n, k)``, best first: ties go to the better.
        count: At most this many are chosen, none twice.
    """
    between = distances(points, points)
    nearest = np.full(len(points), between.max(initial=0.0))
    chosen: list[int] = []
    for _ in range(min(count, len(points))):
        gains = np.maximum(nearest - between, 0.0).sum(axis=1)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        nearest = np.minimum(nearest, between[chosen[-1]])
    return np.array(chosen, dtype=np.int64)
