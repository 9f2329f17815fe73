"""Numbers without idle digits: what goes on record is rounded to what it can say, so that no digit can say more."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from pcevolve.geometry.distances import FloatArray

Step: TypeAlias = "float | FloatArray"
"""A power of two to multiples of which numbers are rounded: one for all numbers, or one for each column."""
IDLE = 2.0**-10
"""Share of a standard deviation of noise below which digits say nothing."""


def coarse(values: FloatArray, step: Step) -> FloatArray:
    """The nearest multiple of ``step`` to each value; no negative zero."""
    return np.asarray(np.rint(values / step) * step + 0.0)


def is_coarse(values: FloatArray, step: Step) -> bool:
    """True if all values are multiples of ``step`` in their one spelling, that is, without negative zeros."""
    return coarse(values, step).tobytes() == np.ascontiguousarray(values).tobytes()


def power_below(values: Step) -> Step:
    """The largest power of two that is at most each value, > 0."""
    power: Step = np.ldexp(1.0, np.frexp(values)[1] - 1)
    return power


def idle_step(deviation: Step) -> Step:
    """A power of two that is small against the standard deviation of noise."""
    return IDLE * power_below(deviation)


def without_idle_digits(noisy: FloatArray, deviation: Step) -> FloatArray:
    """Released numbers, rounded as far as their noise hides: public post-processing.

    Args:
        noisy: What was released.
        deviation: Standard deviation of its noise, > 0.
    """
    return coarse(noisy, idle_step(deviation))
