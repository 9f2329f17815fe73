"""The price of a release in these benchmarks, and the interval of a figure over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.stats import t as student

from pcevolve.dp.calibration import smallest_noise_multiplier
from pcevolve.privacy import Budget, Event, Events
from pcevolve.selectors.rounds import with_centre

SHOTS = 10
AT_ONCE: Events = (Event("gaussian", str(smallest_noise_multiplier(Budget(Fraction(10), 1e-5), 1))),)
CENTRE_FIRST: Events = with_centre((AT_ONCE,))[0]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval, by Student's t."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values)), float(student.ppf(0.975, len(values) - 1) * error)
