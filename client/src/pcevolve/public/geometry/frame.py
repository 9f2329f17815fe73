"""The public frame of reference of DP class means (centre, principal axes, clip radius), and rounding for the record.

If the encoder comes with public images, a frame is computed from these images joined with the synthetic
candidates. Otherwise it is computed from the candidates alone. No private data enters the frame. The frame is
recorded with the means, so its numbers are rounded coarsely: finer digits differ between machines and could
carry a hidden message. Any frame is safe, because private points are clipped. Other recorded numbers are rounded
to the scale of their noise, so that their digits cannot carry other information.

>>> Frame.of(np.eye(6)[:4]).axes.shape
(6, 4)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np

from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.encoders.singly import keep_undivided
from pcevolve.public.geometry.distances import Embeddings, FloatArray
from pcevolve.public.geometry.ruler import MACHINE_SHARE

Step: TypeAlias = "float | FloatArray"
"""A power of two. Numbers are rounded to its multiples: one step for all numbers, or one for each column."""
ROUNDING_SHARE = 2.0**-10
"""Share of the noise's standard deviation below which digits carry no information."""
CANDIDATES_SHARE = 1 / 3
"""Weight of the candidates when they are joined with public images.

With this weight, a domain that only the candidates show is represented (decision 20).
"""
MOST_AXES = 16
"""Number of principal axes in a frame. Each axis gets the same noise, and the first axes have the most variance."""
AVERAGE_ERROR = 0.25
"""Mean error of many embeddings, as a share of the largest error. Axes turn by at most a third of the worst case."""
STEP = 2.0**-9
"""The step to which axes are rounded, and the step of the centre as a share of the radius.

The frame is recorded. Finer digits differ between machines and could carry a hidden message. Rounding costs no
privacy, because any frame is safe after the clip.
"""


@dataclass(frozen=True, eq=False)
class Frame:
    """Public coordinates of embeddings.

    Attributes:
        centre: float64 ``(d,)``, in multiples of ``step``, which is small compared with the radius.
        axes: float64 ``(d, k)``. The columns are orthonormal up to rounding to ``STEP``. A column is zero if the
            candidates do not differ along it.
        radius: R > 0, the radius of the ball to which private points are clipped.
        variances: float64 ``(k,)``, the variances along each axis of the points from which the frame was made.
        step: The step to which the centre is rounded: one step for all numbers, or one for each number.
        doubt: How much the rounded centre and axes of another machine may differ. None for a frame from a file.
    """

    centre: FloatArray
    axes: FloatArray
    radius: float
    variances: FloatArray
    step: Step
    doubt: FrameDoubt | None = None

    @classmethod
    @keep_undivided()
    def of(
        cls,
        candidates: FloatArray,
        most: int = MOST_AXES,
        recorded: tuple[FloatArray, FloatArray] | None = None,
    ) -> Self:
        """Build a frame from the mean, the first principal axes and the median norm of candidates, float64 ``(n, d)``.

        ``recorded`` has the same meaning as in ``join``.
        """
        rows = candidates[np.isfinite(candidates).all(axis=1)]
        if not len(rows):  # nothing to choose between either
            width = candidates.shape[1]
            return cls(np.zeros(width), np.eye(width, min(width, most)), 1.0, np.ones(min(width, most)), STEP)
        exact = rows.mean(axis=0)
        found, weights = _principal(rows - exact, most)
        step = STEP * float(power_below(_typical_norm((rows - exact) @ found)))
        centre, axes = recorded or (round_to(exact, step), round_to(found, STEP))
        # The radius and the variances belong to the rounded frame, because private points are measured in that frame.
        points = (rows - centre) @ axes
        doubt = FrameDoubt.of(rows, 1.0, exact, found, weights)
        return cls(centre, axes, _typical_norm(points), points.var(axis=0), step, doubt)

    @classmethod
    def public(cls, of: PublicFrame, most: int = MOST_AXES) -> Self:
        """Build a frame from the first axes of an encoder's public frame."""
        count = min(most, of.axes.shape[1])
        axes, radius = np.ascontiguousarray(of.axes[:, :count]), float(of.radii[count - 1])
        return cls(of.centre, axes, radius, of.variances[:count], STEP * float(power_below(radius)))

    @classmethod
    @keep_undivided()
    def join(
        cls,
        public: PublicFrame,
        candidates: FloatArray,
        most: int = MOST_AXES,
        recorded: tuple[FloatArray, FloatArray] | None = None,
    ) -> Self:
        """Join public images and candidates into one set. Both are scaled to equal spread and weighted by their shares.

        Args:
            public: The encoder's public frame.
            candidates: float64 ``(n, d)``. If all candidates are equal or none is finite, the public frame is used
                alone.
            most: The largest number of axes.
            recorded: Centre and axes as another machine rounded them. They replace the ones computed here.
        """
        if public.parts:
            return cls.of_parts(public.parts, candidates, most, recorded)
        rows = candidates[np.isfinite(candidates).all(axis=1)]
        middle = rows.mean(axis=0) if len(rows) else public.centre
        spread, total = float(np.square(rows - middle).sum()), float(public.variances.sum())
        if not spread > 0:
            return cls.public(public, most)
        shares = (1 - CANDIDATES_SHARE, CANDIDATES_SHARE)
        seen = (public.axes * np.sqrt(shares[0] * public.variances / total)).T
        scaled = np.sqrt(shares[1] / spread)
        both = np.concatenate([seen, (rows - middle) * scaled])
        found, weights = _principal(both, most)
        known = float(public.radii[min(most, public.radii.size) - 1])
        # From the public radius, because the joint radius is measured in the frame that this step rounds.
        step = STEP * float(power_below(known))
        exact = np.average([public.centre, middle], axis=0, weights=shares)
        centre, axes = recorded or (round_to(exact, step), round_to(found, STEP))
        radius = np.average([known, _typical_norm((rows - centre) @ axes)], weights=shares)
        scale = np.average([total, spread / len(rows)], weights=shares)
        doubt = FrameDoubt.of(rows, scaled, exact, found, weights)
        return cls(centre, axes, float(radius), scale * np.square(both @ axes).sum(axis=0), step, doubt)

    @classmethod
    def of_parts(
        cls,
        parts: tuple[PublicFrame, ...],
        candidates: FloatArray,
        most: int,
        recorded: tuple[FloatArray, FloatArray] | None,
    ) -> Self:
        """Join the frames of concatenated embeddings into one frame, whose ball contains the balls of all parts.

        A unit has one point in the joined frame, and this point is clipped once. Every proof about a frame therefore
        holds for the joined frame.
        """
        ends = np.cumsum([0, *(len(each.centre) for each in parts)])
        slots = [slice(int(low), int(high)) for low, high in pairwise(ends)]
        # If one part of a row is not finite, the row is unusable in all parts.
        is_usable = np.asarray(np.isfinite(candidates).all(axis=1))
        usable = np.where(is_usable[:, None], candidates, np.nan)
        given = [None] * len(parts) if recorded is None else _cut(recorded, slots, most)
        made = [
            cls.join(part, usable[:, slot], most, cut)
            for part, slot, cut in zip(parts, slots, given, strict=True)
        ]
        return cls(
            np.concatenate([each.centre for each in made]),
            _stack([each.axes for each in made]),
            math.sqrt(sum(each.radius**2 for each in made)),
            np.concatenate([each.variances for each in made]),
            np.concatenate([np.full(len(each.centre), each.step) for each in made]),
            FrameDoubt.of_parts([each.doubt or FrameDoubt.none(each.centre, each.axes) for each in made]),
        )

    def equals(self, centre: FloatArray, axes: FloatArray) -> bool:
        """Return True if centre and axes equal those of this frame, bit for bit."""
        return np.array_equal(self.centre, centre) and np.array_equal(self.axes, axes)

    def resembles(self, centre: FloatArray, axes: FloatArray) -> bool:
        """Return True if centre and axes equal those of this frame, up to rounding differences between machines."""
        if self.doubt is None:
            return self.equals(centre, axes)
        # A number may differ by one step if its exact value lies so close to the midpoint between two steps that the
        # machines' differences in the embeddings decide how it is rounded.
        return all(
            theirs.shape == ours.shape
            and is_rounded_to(theirs, step)
            and bool((np.abs(theirs - ours) <= step / 2 + np.minimum(reach, step)).all())
            for theirs, ours, step, reach in (
                (centre, self.doubt.centre, self.step, self.doubt.reach),
                (axes, self.doubt.axes, STEP, self.doubt.reaches),
            )
        )

    def points(self, embeddings: Embeddings) -> FloatArray:
        """Return the coordinates of embeddings, float64 ``(n, k)``."""
        return project(embeddings, self.centre, self.axes)

    def shrinkage(self, deviation: float) -> FloatArray:
        """Return the factor by which each noisy coordinate is multiplied, ``(k,)``, in [0, 1].

        The factor is small where the noise is larger than the spread of candidates.
        """
        return np.asarray(self.variances / (self.variances + deviation**2))

    def kept_noise(self, deviation: float) -> FloatArray:
        """Return the standard deviation of the noise that remains in each coordinate, float64 ``(k,)``, > 0."""
        # At least one step. Where candidates do not differ, no noise is kept, and rounding to a noise of 0 would keep
        # all digits.
        return np.maximum(deviation * self.shrinkage(deviation), STEP * self.radius)


@dataclass(frozen=True, eq=False)
class FrameDoubt:
    """A frame before rounding, and how much the frame of another machine may differ from it.

    Attributes:
        centre: The centre before rounding, float64 ``(d,)``.
        axes: The axes before rounding, float64 ``(d, k)``.
        reach: Largest difference between two machines in a number of the centre.
        reaches: float64 ``(k,)`` or ``(d, k)``, largest difference between two machines in a number of an axis. Two
            axes of equal variance can turn freely in their plane. The closer their singular values, the larger the
            difference.
    """

    centre: FloatArray
    axes: FloatArray
    reach: Step
    reaches: FloatArray

    @classmethod
    def none(cls, centre: FloatArray, axes: FloatArray) -> Self:
        """Return a doubt of zero, for a frame that comes from a file."""
        return cls(centre, axes, 0.0, np.zeros(axes.shape[1]))

    @classmethod
    def of_parts(cls, parts: Sequence[FrameDoubt]) -> Self:
        """Concatenate the doubts of concatenated frames. The zeros outside the blocks are certain."""
        return cls(
            np.concatenate([each.centre for each in parts]),
            _stack([each.axes for each in parts]),
            np.concatenate([np.full(len(each.centre), each.reach) for each in parts]),
            _stack([np.broadcast_to(each.reaches, each.axes.shape) for each in parts]),
        )

    @classmethod
    def of(
        cls, rows: FloatArray, scale: float, centre: FloatArray, axes: FloatArray, weights: FloatArray
    ) -> Self:
        """Bound the difference between machines for the frame of embeddings, float64 ``(n, d)``.

        Args:
            scale: The factor by which the offsets of the rows were multiplied.
            weights: All singular values, the largest first.
        """
        error = MACHINE_SHARE * float(np.sqrt(np.square(rows).sum(axis=1)).max())
        count, width = rows.shape
        apart = np.abs(np.diff(weights, append=0.0))
        gaps = np.minimum(apart, np.concatenate([[np.inf], apart[:-1]]))[: axes.shape[1]]
        # By Davis and Kahan, an axis turns by at most the errors' largest singular value divided by the axis's gap. For
        # n errors without a common direction, this singular value is the length of one error times (sqrt(n) + sqrt(d))
        # / sqrt(d). A single number of the axis gets a share of 1 / sqrt(d) of the turn.
        turned = scale * AVERAGE_ERROR * error * (math.sqrt(count) + math.sqrt(width)) / width
        # An axis without information is 0 on every machine.
        return cls(centre, axes, error, axes.any(axis=0) * turned / np.maximum(gaps, 1e-300))


def project(embeddings: Embeddings, centre: FloatArray, axes: FloatArray) -> FloatArray:
    """Return coordinates, float64 ``(n, k)``. Each row depends on its own embedding alone, bit for bit."""
    with np.errstate(invalid="ignore", over="ignore"):
        # ``embeddings @ axes`` would choose its kernel, and so its last bits, by the number of rows.
        rows = [((row - centre)[:, None] * axes).sum(axis=0) for row in embeddings]
    return np.array(rows).reshape(-1, axes.shape[1])


def _principal(offsets: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Return the first principal axes, float64 ``(d, k)``, and all singular values, of offsets ``(n, d)``.

    The offsets are not centred again. The largest entry of each axis is positive. An axis without information is 0.
    """
    weights, rows = _decompose(offsets)
    axes = rows[:most].T
    # The sign of an eigenvector is arbitrary, and libraries choose it differently.
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    # If candidates hardly differ along an axis, the last digits of the embeddings turn it, and machines disagree.
    informative = weights[:most] > STEP * weights.max(initial=0.0)
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0) * informative), weights


def _stack(blocks: Sequence[FloatArray]) -> FloatArray:
    """Build a block-diagonal matrix."""
    made = np.zeros(np.sum([each.shape for each in blocks], axis=0))
    down = across = 0
    for block in blocks:
        made[down : down + len(block), across : across + block.shape[1]] = block
        down, across = down + len(block), across + block.shape[1]
    return made


def _cut(
    recorded: tuple[FloatArray, FloatArray], slots: Sequence[slice], most: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Split the recorded centre and axes into parts of ``most`` axes each."""
    centre, axes = recorded
    return [
        (centre[slot], np.ascontiguousarray(axes[slot, place * most : (place + 1) * most]))
        for place, slot in enumerate(slots)
    ]


def _decompose(offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the singular values and the right singular vectors (as rows) of finite offsets."""
    try:
        return np.linalg.svd(offsets, full_matrices=False)[1:]
    except np.linalg.LinAlgError:
        # LAPACK's divide and conquer failed once in 840 times on finite embeddings (MobileNet). QR iteration is slower.
        from scipy.linalg import svd

        return tuple(svd(offsets, full_matrices=False, lapack_driver="gesvd")[1:])


def _typical_norm(points: FloatArray) -> float:
    radius = float(np.median(np.linalg.norm(points, axis=1)))
    return radius if radius > 0 else 1.0


def round_to(values: FloatArray, step: Step) -> FloatArray:
    """Round each value to the nearest multiple of ``step``, without negative zeros."""
    # Adding 0.0 turns -0.0 into 0.0. Two ways to write a number could encode one hidden bit.
    return np.asarray(np.rint(values / step) * step + 0.0)


def is_rounded_to(values: FloatArray, step: Step) -> bool:
    """Return True if all values are multiples of ``step`` and none is a negative zero."""
    return round_to(values, step).tobytes() == np.ascontiguousarray(values).tobytes()


def power_below(values: Step) -> Step:
    """Return the largest power of two that is not above the value, for each value > 0."""
    power: Step = np.ldexp(1.0, np.frexp(values)[1] - 1)
    return power


def rounding_step(deviation: Step) -> Step:
    """Return a power of two that is small compared with the noise's standard deviation."""
    return ROUNDING_SHARE * power_below(deviation)


def round_to_noise_scale(noisy: FloatArray, deviation: Step) -> FloatArray:
    """Round released numbers to a step that their noise hides. The deviation is > 0. This is public post-processing."""
    return round_to(noisy, rounding_step(deviation))
