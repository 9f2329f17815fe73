"""Noisy sums of clipped private points: class means, with or without a centre that is released first, and appearances.

No other code of DP class means reads private points. The sensitivities are proved here for any public frame and any
centre, so no released number has to be trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.dp.calibration import (
    DEVIATION_RADIUS,
    bounded_sum_sensitivity,
    deviation_sum_sensitivity,
)
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import IntArray
from pcevolve.public.geometry.frame import STEP, Frame, round_to_noise_scale
from pcevolve.public.privacy import Event, Events, Relation
from pcevolve.public.selectors.selection import (
    Measurement,
    PrivateEmbeddings,
    SelectionInput,
    deviation,
    require_mechanism,
    single_event,
    unit_shares,
)

if TYPE_CHECKING:
    from pcevolve.public.media.images.appearance import Appearance

ROUNDING_SHARE = 1e-8
"""Share of the clip radius reserved for float64 rounding of the sums. For 10**5 images, rounding takes far less."""

LEAST_KEPT = 1 / 64
"""Least standard deviation of the noise that shrinkage leaves in a coordinate, in steps of the frame.

With less noise, rounding adds more than a thirtieth of it.
"""
CLIP_RADIUS = 1.0
"""L2 norm to which an appearance's six numbers, measured from the middle, are clipped.

Few images are extreme in more than four of the numbers.
"""
PRIOR_VARIANCE = 0.1
"""Public guess of the variance of the difference between the private mean appearance and the provider's.

It decides how much a noisy mean counts.
"""


@dataclass(frozen=True)
class AtOnce:
    """One Gaussian release of the sums of all classes.

    A unit adds the mean of its images' clipped points to the sums of all classes together. This vector has an L2
    norm of at most R. The L2 sensitivity is therefore R under ``add-remove`` and 2R under ``replace-one``.
    """

    frame: Frame
    inputs: SelectionInput
    event: Event

    def release(self, private: PrivateEmbeddings, noise: Noise) -> Measurement:
        """Release ``means``, float64 ``(classes, k)``: noisy sums over nominal K, moved towards candidates' means."""
        require_mechanism(self.event, "gaussian")
        frame, inputs, prior = self.frame, self.inputs, typical_by_class(self.frame, self.inputs)
        # Points are clipped and summed before the noise is added. The later steps may depend on anything public.
        sums = class_sums(frame.points(private.embeddings), private, len(inputs.labels), frame.radius)
        noisy = noise.gaussian(f"{inputs.key}/means", sums, self._sigma) / inputs.shots
        means = prior + (noisy - prior) * frame.shrinkage(self._deviation)
        return {"means": round_to_noise_scale(means, self.doubts["means"])}

    @property
    def doubts(self) -> dict[str, FloatArray]:
        """Standard deviation of the noise in the release, float64 ``(k,)``. Digits far below it are meaningless."""
        return {"means": self.frame.kept_noise(self._deviation)}

    @property
    def _deviation(self) -> float:
        # The noise in the means is the sum of all owners' shares. It may be larger than the noise that is paid for.
        return self._sigma * self.inputs.noise_factor / self.inputs.shots

    @property
    def _sigma(self) -> float:
        return deviation(self.event, self.frame.radius * bounded_sum_sensitivity(self.inputs.relation))


@dataclass(frozen=True)
class CentreFirst:
    """Two Gaussian releases: the sum of all points, then the class sums of deviations from the released centre.

    1. Every point is clipped to the ball of radius R. A unit adds the mean of its images' clipped points to **one** sum
       over all classes. This vector has an L2 norm of at most R. The sensitivity is therefore R under
       ``add-remove`` and 2R under ``replace-one``. The latter is attained by a unit that moves from one end of the
       ball to the other.
    2. The centre c depends only on the release of step 1 and on public facts, so it is fixed before step 2 reads any
       data. Every deviation x - c is clipped to the ball of radius R/2, whatever c is. A unit of m images adds to the
       sums of all classes together the vector v, in which class y has ``sum over its images in y of clip(x - c) / m``.
       The norm of v is at most the sum of its images' norms over m, and so at most R/2. Adding or removing the unit
       moves the sums by ``|v| <= R/2``. Replacing it moves them by ``|v - v'| <= |v| + |v'| <= R``, which is attained
       within one class. If only the label changes, v and v' have disjoint support, and
       ``|v - v'| = sqrt(|v|^2 + |v'|^2) <= R/sqrt(2)``.

    The second access depends on the result of the first. The accountants cover this adaptive composition. With
    multipliers z1 and z2, both accesses together are as private as one Gaussian release with
    ``1/z^2 = 1/z1^2 + 1/z2^2``. A unit that moves from end to end attains both sensitivities at once, so neither
    constant can be lowered.
    """

    frame: Frame
    inputs: SelectionInput
    events: Events

    def release(self, private: PrivateEmbeddings, noise: Noise) -> Measurement:
        """Release ``middle``, float64 ``(k,)``, and ``deviations`` from it, float64 ``(classes, k)``.

        Both are shrunk towards a prior, and more strongly where noise makes them more uncertain. The prior of the
        middle is the mean of the candidates' class means. The prior of each class's deviation is the deviation of
        its candidates.
        """
        for event in self.events:
            require_mechanism(event, "gaussian")
        frame, inputs, prior = self.frame, self.inputs, typical_by_class(self.frame, self.inputs)
        points, expected = frame.points(private.embeddings), inputs.shots * len(inputs.labels)
        radius = DEVIATION_RADIUS * frame.radius
        # The mean of the classes' priors has equal weights, because the private classes are assumed to have equally
        # many shots.
        guess = prior.mean(axis=0)
        pooled = noise.gaussian(
            f"{inputs.key}/middle", pooled_sum(points, private, frame.radius), self._sigmas[0]
        )
        middle = guess + (pooled / expected - guess) * frame.shrinkage(self._deviations[0])
        middle = round_to_noise_scale(middle, self.doubts["middle"])
        # Deviations are taken from the released middle, because the second access may only use what the first released.
        sums = class_sums(points - middle, private, len(inputs.labels), radius)
        noisy = noise.gaussian(f"{inputs.key}/deviations", sums, self._sigmas[1]) / inputs.shots
        # The prior is clipped like the private deviations, because no data could confirm an aim outside their ball.
        own = clip(prior - guess, radius)
        deviations = own + (noisy - own) * frame.shrinkage(self._deviations[1])
        return {"middle": middle, "deviations": round_to_noise_scale(deviations, self.doubts["deviations"])}

    def recover_noisy_deviations(self, measured: Measurement) -> tuple[FloatArray, float, NDArray[np.bool_]]:
        """Undo the shrinkage of deviations, and return them with the standard deviation of their noise.

        Returns:
            The deviations, float64 ``(classes, k)``, in the k coordinates that kept information, the standard
            deviation of their noise, and a mask of these coordinates.
        """
        frame, prior = self.frame, typical_by_class(self.frame, self.inputs)
        sigma = self._deviations[1]
        kept = frame.shrinkage(sigma)
        own = clip(prior - prior.mean(axis=0), DEVIATION_RADIUS * frame.radius)
        # If less than the rounding error was kept, a division by the kept share would magnify that error.
        informative = kept * sigma > LEAST_KEPT * STEP * frame.radius
        return (
            ((measured["deviations"] - own) / np.where(informative, kept, 1.0) + own)[:, informative],
            sigma,
            informative,
        )

    @property
    def deviation_noise(self) -> float:
        """Root mean square norm of the noise in a class's released deviation. It is public."""
        sigma = self._deviations[1]
        return float(np.linalg.norm(self.frame.shrinkage(sigma) * sigma))

    @property
    def doubts(self) -> dict[str, FloatArray]:
        """Standard deviations of the noise in the release, float64 ``(k,)``. Digits far below them are meaningless."""
        middle, deviations = map(self.frame.kept_noise, self._deviations)
        return {"middle": middle, "deviations": deviations}

    @property
    def _deviations(self) -> tuple[float, float]:
        # The noise in middle and deviations is the sum of all owners' shares. It may be larger than the noise that is
        # paid for.
        inputs = self.inputs
        first, second = (sigma * inputs.noise_factor for sigma in self._sigmas)
        return first / (inputs.shots * len(inputs.labels)), second / inputs.shots

    @property
    def _sigmas(self) -> tuple[float, float]:
        # The centre is one pooled sum, so its sensitivity is that of one sum in the ball. Deviations are clipped to
        # half the radius.
        first, second = self.events
        relation, radius = self.inputs.relation, self.frame.radius
        return (
            deviation(first, radius * bounded_sum_sensitivity(relation)),
            deviation(second, radius * deviation_sum_sensitivity(relation)),
        )


def choose_release(frame: Frame, inputs: SelectionInput, events: Events) -> AtOnce | CentreFirst:
    """Choose how means are released, by the number of events.

    Raises:
        ValueError: There is no event, or there are more than two.
    """
    # A centre is released if and only if an event pays for it, so the number of events decides.
    if len(events) == 2:
        return CentreFirst(frame, inputs, events)
    return AtOnce(frame, inputs, single_event(events))


def class_sums(points: FloatArray, private: PrivateEmbeddings, classes: int, radius: float) -> FloatArray:
    """Sum clipped points by class, float64 ``(classes, k)``, correctly rounded, without noise. The sums are private.

    Args:
        points: float64 ``(images, k)`` of the private images.
    """
    return _sums(points, private, private.targets, classes, radius)


def pooled_sum(points: FloatArray, private: PrivateEmbeddings, radius: float) -> FloatArray:
    """Sum the clipped points of all classes, float64 ``(k,)`` (see ``class_sums``)."""
    # One group for all classes. The centre needs less noise, because this sum is divided by the number of all images.
    (total,) = _sums(points, private, np.zeros_like(private.targets), 1, radius)
    return np.asarray(total)


def _sums(
    points: FloatArray, private: PrivateEmbeddings, groups: IntArray, count: int, radius: float
) -> FloatArray:
    # Clipped slightly inside the ball, so that rounding of clip and sum cannot move a vector out of it.
    shares = clip(points, radius * (1 - ROUNDING_SHARE)) * private.shares[:, None]
    # ``fsum`` is correctly rounded in any order, so no digit reveals the order of the private files.
    return np.array([[math.fsum(column) for column in shares[groups == group].T] for group in range(count)])


def clip(points: FloatArray, radius: float) -> FloatArray:
    """Move points outside the ball of ``radius`` to its surface."""
    norms = np.sqrt(np.square(points).sum(axis=1))
    # 1e-300 keeps the zero vector unchanged, which would otherwise become NaN.
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None])


def typical_by_class(frame: Frame, inputs: SelectionInput) -> FloatArray:
    """Return the mean point of each class's candidates, float64 ``(classes, k)``. It is public."""
    # Computed from candidates rather than private images: the prior must be public, and candidates follow the prompt.
    return np.array([typical(frame.points(pool)) for pool in inputs.pools])


def typical(points: FloatArray) -> FloatArray:
    """Return the mean of the finite points, float64 ``(k,)``, or zeros if there are none."""
    rows = points[np.isfinite(points).all(axis=1)]
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(points.shape[1]))


def release_appearance(
    rows: FloatArray,
    unit_of: IntArray,
    expected: int,
    prior: Appearance,
    event: Event,
    relation: Relation,
    noise: Noise,
    noise_factor: float = 1.0,
) -> Appearance:
    """Release the private images' mean appearance with noise. The noisier it is, the closer it is to a public guess.

    Each image's appearance is measured from the middle and clipped to an L2 norm of 1. A unit adds the mean over its
    images. The sum therefore moves by an L2 distance of at most 1 under ``add-remove`` and 2 under ``replace-one``.

    Args:
        rows: float64 ``(images, 6)`` in [0, 1] (see ``measure_appearances``).
        unit_of: int64 ``(images,)``, the privacy unit of each image.
        expected: The nominal number of units.
        prior: Public guess: the appearance of the provider's images.
        noise_factor: As in ``SelectionInput``.
    """
    # Imported here, so that pricing a method does not load Pillow.
    from pcevolve.public.media.images.appearance import MIDDLE, Appearance

    sigma = deviation(event, CLIP_RADIUS * bounded_sum_sensitivity(relation))
    noisy = noise.gaussian("appearance", _appearance_sum(rows - MIDDLE, unit_of), sigma) / expected + MIDDLE
    # The usual weight of a noisy mean against a prior. With much noise the provider's appearance is kept.
    trust = PRIOR_VARIANCE / (PRIOR_VARIANCE + (sigma * noise_factor / expected) ** 2)
    # Noise can push a number out of the range of appearances. Moving it back is free post-processing.
    return Appearance.nearest(prior.vector + trust * (noisy - prior.vector))


def _appearance_sum(offsets: FloatArray, unit_of: IntArray) -> FloatArray:
    # Measured from the middle, where typical images lie. Their vectors are short, so few are clipped.
    weighted = clip(offsets, CLIP_RADIUS * (1 - ROUNDING_SHARE)) * unit_shares(unit_of)[:, None]
    return np.array([math.fsum(column) for column in weighted.T])
