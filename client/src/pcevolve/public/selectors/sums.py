"""Noisy sums of clipped private points: class means, at once or around a centre released first, and an appearance.

This is the only code of DP class means that sees private points. Sensitivities are proved here for any public
frame and any centre, so nothing derived from the released numbers has to be trusted.
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
"""Share of the clip radius reserved for float64 rounding of the sums, which is far below it for 10**5 images."""

LEAST_KEPT = 1 / 64
"""In steps of the frame: if less noise is kept in a coordinate, rounding adds more than a thirtieth of that noise."""
CLIP_RADIUS = 1.0
"""Norm to which the six numbers, measured from the middle, are clipped: few images are extreme in more than four."""
PRIOR_VARIANCE = 0.1
"""Public guess of the variance between the owner's and the provider's appearance; noisier means follow it more."""


@dataclass(frozen=True)
class AtOnce:
    """One Gaussian release of the sums of all classes.

    A unit adds to the sums of all classes together the mean of its images' clipped points, a vector of L2 norm at
    most R, so the L2 sensitivity is R under ``add-remove`` and 2R under ``replace-one``.
    """

    frame: Frame
    inputs: SelectionInput
    event: Event

    def release(self, private: PrivateEmbeddings, noise: Noise) -> Measurement:
        """Release ``means``, float64 ``(classes, k)``: noisy sums over nominal K, shrunk to the candidates' means."""
        require_mechanism(self.event, "gaussian")
        frame, inputs, prior = self.frame, self.inputs, typical_by_class(self.frame, self.inputs)
        # Clipped and summed before the noise, shrunk to the prior after it: steps after the noise may depend
        # on anything public.
        sums = class_sums(frame.points(private.embeddings), private, len(inputs.labels), frame.radius)
        noisy = noise.gaussian(f"{inputs.key}/means", sums, self._sigma) / inputs.shots
        means = prior + (noisy - prior) * frame.shrinkage(self._deviation)
        return {"means": round_to_noise_scale(means, self.doubts["means"])}

    @property
    def doubts(self) -> dict[str, FloatArray]:
        """Standard deviation of the noise in the release, float64 ``(k,)``; digits far below it carry nothing."""
        return {"means": self.frame.kept_noise(self._deviation)}

    @property
    def _deviation(self) -> float:
        # Of the noise in the means: of all owners' shares, which may be more than is paid for.
        return self._sigma * self.inputs.noise_factor / self.inputs.shots

    @property
    def _sigma(self) -> float:
        return deviation(self.event, self.frame.radius * bounded_sum_sensitivity(self.inputs.relation))


@dataclass(frozen=True)
class CentreFirst:
    """Two Gaussian releases: the sum of all points, then the class sums of deviations from the released centre.

    1. Every point is clipped to the ball of radius R. A unit adds the mean of its images' clipped points to
      **one** sum over all classes, a vector of L2 norm at most R: the sensitivity is R under ``add-remove``
      and 2R under ``replace-one`` (attained by a unit that goes from one end of the ball to the other).
    2. The centre c is a function of what step 1 released and of public facts, so it is fixed before step 2
      looks. Every deviation x - c is clipped to the ball of radius R/2, whatever c is. A unit of m images
      adds to the sums of all classes together the vector v in which class y has ``sum over its images in y of
      clip(x - c) / m``. Its norm is at most the sum of its images' norms over m, so at most R/2. Adding or
      removing the unit moves the sums by ``|v| <= R/2``; replacing it moves them by ``|v - v'| <= |v| + |v'|
      <= R``, attained within one class. Where only the label changes, v and v' have disjoint support, so ``|v
      - v'| = sqrt(|v|^2 + |v'|^2) <= R/sqrt(2)``.

    The second access is chosen after seeing the first: adaptive composition, which the accountants do. With
    multipliers z1 and z2 both together are as private as one Gaussian release with ``1/z^2 = 1/z1^2 +
    1/z2^2``, and a unit that goes from end to end attains both sensitivities at once, so neither constant can
    be lowered.
    """

    frame: Frame
    inputs: SelectionInput
    events: Events

    def release(self, private: PrivateEmbeddings, noise: Noise) -> Measurement:
        """Release ``middle``, float64 ``(k,)``, and ``deviations`` from it, float64 ``(classes, k)``.

        Both are shrunk to a prior as far as noise makes them uncertain: the middle to that of the candidates'
        class means, each class's deviation to that of its candidates.
        """
        for event in self.events:
            require_mechanism(event, "gaussian")
        frame, inputs, prior = self.frame, self.inputs, typical_by_class(self.frame, self.inputs)
        points, expected = frame.points(private.embeddings), inputs.shots * len(inputs.labels)
        radius = DEVIATION_RADIUS * frame.radius
        # The mean of the classes' priors, with equal weights, as the private classes are assumed to have
        # equally many shots.
        guess = prior.mean(axis=0)
        pooled = noise.gaussian(
            f"{inputs.key}/middle", pooled_sum(points, private, frame.radius), self._sigmas[0]
        )
        middle = guess + (pooled / expected - guess) * frame.shrinkage(self._deviations[0])
        middle = round_to_noise_scale(middle, self.doubts["middle"])
        # Around the released middle, not the private mean: the second access may use only what the first one
        # paid for.
        sums = class_sums(points - middle, private, len(inputs.labels), radius)
        noisy = noise.gaussian(f"{inputs.key}/deviations", sums, self._sigmas[1]) / inputs.shots
        # Clipped as the private deviations are: outside of their ball a prior would be an aim that no data
        # can confirm.
        own = clip(prior - guess, radius)
        deviations = own + (noisy - own) * frame.shrinkage(self._deviations[1])
        return {"middle": middle, "deviations": round_to_noise_scale(deviations, self.doubts["deviations"])}

    def recover_noisy_deviations(self, measured: Measurement) -> tuple[FloatArray, float, NDArray[np.bool_]]:
        """Undo the shrinkage of deviations; return them with the standard deviation of their noise.

        Returns:
            float64 ``(classes, k)`` in the k coordinates that kept anything, the standard deviation, and a
            mask of these
            coordinates.
        """
        frame, prior = self.frame, typical_by_class(self.frame, self.inputs)
        sigma = self._deviations[1]
        kept = frame.shrinkage(sigma)
        own = clip(prior - prior.mean(axis=0), DEVIATION_RADIUS * frame.radius)
        # If less was kept than rounding leaves, division by it would turn rounding into noise.
        informative = kept * sigma > LEAST_KEPT * STEP * frame.radius
        return (
            ((measured["deviations"] - own) / np.where(informative, kept, 1.0) + own)[:, informative],
            sigma,
            informative,
        )

    @property
    def deviation_noise(self) -> float:
        """Root mean square norm of the noise in a class's released deviation; public."""
        sigma = self._deviations[1]
        return float(np.linalg.norm(self.frame.shrinkage(sigma) * sigma))

    @property
    def doubts(self) -> dict[str, FloatArray]:
        """Standard deviations of the noise in the release, float64 ``(k,)``; digits far below them carry nothing."""
        middle, deviations = map(self.frame.kept_noise, self._deviations)
        return {"middle": middle, "deviations": deviations}

    @property
    def _deviations(self) -> tuple[float, float]:
        # Of the noise in middle and deviations: of all owners' shares, which may be more than is paid for.
        inputs = self.inputs
        first, second = (sigma * inputs.noise_factor for sigma in self._sigmas)
        return first / (inputs.shots * len(inputs.labels)), second / inputs.shots

    @property
    def _sigmas(self) -> tuple[float, float]:
        # The centre is pooled, so its sensitivity is that of one sum in the ball; the deviations are clipped
        # to half of it.
        first, second = self.events
        relation, radius = self.inputs.relation, self.frame.radius
        return (
            deviation(first, radius * bounded_sum_sensitivity(relation)),
            deviation(second, radius * deviation_sum_sensitivity(relation)),
        )


def choose_release(frame: Frame, inputs: SelectionInput, events: Events) -> AtOnce | CentreFirst:
    """Choose how means are released, by the number of events.

    Raises:
        ValueError: There are none, or more than two.
    """
    # The number of events is the plan's word for it: a centre is released if and only if somebody pays for
    # one.
    if len(events) == 2:
        return CentreFirst(frame, inputs, events)
    return AtOnce(frame, inputs, single_event(events))


def class_sums(points: FloatArray, private: PrivateEmbeddings, classes: int, radius: float) -> FloatArray:
    """Sum clipped points by class, float64 ``(classes, k)``, correctly rounded, without noise: private.

    Args:
        points: float64 ``(images, k)`` of the private images.
    """
    return _sums(points, private, private.targets, classes, radius)


def pooled_sum(points: FloatArray, private: PrivateEmbeddings, radius: float) -> FloatArray:
    """Sum the clipped points of all classes, float64 ``(k,)``; see ``class_sums``."""
    # One group for all classes: a centre needs less noise, because one sum over all images is divided by all
    # of them.
    (total,) = _sums(points, private, np.zeros_like(private.targets), 1, radius)
    return np.asarray(total)


def _sums(
    points: FloatArray, private: PrivateEmbeddings, groups: IntArray, count: int, radius: float
) -> FloatArray:
    # Clipped slightly inside of the ball, so that rounding of clip and sum cannot carry a vector out of it.
    shares = clip(points, radius * (1 - ROUNDING_SHARE)) * private.shares[:, None]
    # ``fsum`` is correctly rounded in any order, so the order of private files shows in no digit.
    return np.array([[math.fsum(column) for column in shares[groups == group].T] for group in range(count)])


def clip(points: FloatArray, radius: float) -> FloatArray:
    """Move points outside of the ball of ``radius`` to its surface."""
    norms = np.sqrt(np.square(points).sum(axis=1))
    # 1e-300: the zero vector stays itself instead of becoming NaN.
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None])


def typical_by_class(frame: Frame, inputs: SelectionInput) -> FloatArray:
    """Return the mean point of each class's candidates, float64 ``(classes, k)``; public."""
    # Of the candidates, not of the private images: the prior must be public, and candidates follow the
    # prompt.
    return np.array([typical(frame.points(pool)) for pool in inputs.pools])


def typical(points: FloatArray) -> FloatArray:
    """Return the mean of the finite points, float64 ``(k,)``; zeros if there are none."""
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
    """Release the private images' mean appearance with noise, shrunk to a public guess as far as it is uncertain.

    A unit adds the mean of its images' appearances, measured from the middle and clipped. The L2 norm of the
    sum therefore moves by at most 1 under ``add-remove`` and 2 under ``replace-one``.

    Args:
        rows: float64 ``(images, 6)`` in [0, 1]: see ``measure_appearances``.
        unit_of: int64 ``(images,)``: the privacy unit of each image.
        prior: Public guess: the provider's images' appearance.
        noise_factor: As in ``SelectionInput``.
    """
    # Imported here: pricing a method does not wait for Pillow.
    from pcevolve.public.media.images.appearance import MIDDLE, Appearance

    sigma = deviation(event, CLIP_RADIUS * bounded_sum_sensitivity(relation))
    noisy = noise.gaussian("appearance", _appearance_sum(rows - MIDDLE, unit_of), sigma) / expected + MIDDLE
    # The usual weight of a noisy mean against a prior: with much noise the provider's own appearance is kept.
    trust = PRIOR_VARIANCE / (PRIOR_VARIANCE + (sigma * noise_factor / expected) ** 2)
    # Moved into the range of appearances after the noise, which can push a number out of it: post-processing
    # is free.
    return Appearance.nearest(prior.vector + trust * (noisy - prior.vector))


def _appearance_sum(offsets: FloatArray, unit_of: IntArray) -> FloatArray:
    # Measured from the middle, where typical images are: their vectors are short, and few are clipped.
    weighted = clip(offsets, CLIP_RADIUS * (1 - ROUNDING_SHARE)) * unit_shares(unit_of)[:, None]
    return np.array([math.fsum(column) for column in weighted.T])
