"""Release what the private images look like on the whole: the mean of six numbers per image, under Gaussian noise.

It is pooled over all classes, so it takes little of the budget and says nothing about any one class.
"""

from __future__ import annotations

import math

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.dp.sensitivity import bounded_sum_sensitivity
from pcevolve.modality.images.appearance import MIDDLE, Appearance
from pcevolve.privacy import Event, Relation
from pcevolve.selectors.scene import IntArray, deviation, unit_shares
from pcevolve.selectors.sums import ROUNDING_SHARE, clipped

CLIP_RADIUS = 1.0
"""Norm to which numbers, measured from the middle, are clipped: few images are extreme in more than four of the six."""
PRIOR_VARIANCE = 0.1
"""How far the owner's images may look from the provider's; public. The noisier the mean, the more it counts."""


def released_appearance(
    rows: FloatArray,
    unit_of: IntArray,
    expected: int,
    prior: Appearance,
    event: Event,
    relation: Relation,
    noise: Noise,
) -> Appearance:
    """Mean appearance of the private images, noisy, drawn towards a public guess as far as noise makes it uncertain.

    A unit adds the mean of its images' appearances, measured from the middle and clipped, so the sum moves by at most
    1 in L2 norm under ``add-remove`` and by 2 under ``replace-one``.

    Args:
        rows: float64 ``(images, 6)`` in [0, 1]: see ``appearances``.
        unit_of: int64 ``(images,)``: the privacy unit of each.
        expected: Nominal number of privacy units in all classes.
        prior: Public guess, as the provider's images look.
        event: Gaussian; pays.
        relation: Neighbour relation.
        noise: Draws.
    """
    sigma = deviation(event, CLIP_RADIUS * bounded_sum_sensitivity(relation))
    noisy = noise.gaussian("appearance", _sum(rows, unit_of), sigma) / expected + MIDDLE
    trust = PRIOR_VARIANCE / (PRIOR_VARIANCE + (sigma / expected) ** 2)
    return Appearance.nearest(prior.vector + trust * (noisy - prior.vector))


def _sum(rows: FloatArray, unit_of: IntArray) -> FloatArray:
    weighted = clipped(rows - MIDDLE, CLIP_RADIUS * (1 - ROUNDING_SHARE)) * unit_shares(unit_of)[:, None]
    return np.array([math.fsum(column) for column in weighted.T])
