"""What is paid for a release in these benchmarks, and how a figure over seeds is told."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pcevolve.dp.calibration import smallest_noise_multiplier
from pcevolve.methods.centre_first import with_centre
from pcevolve.privacy import Budget, Event, Events

SHOTS = 10
AT_ONCE: Events = (Event("gaussian", str(smallest_noise_multiplier(Budget(Fraction(10), 1e-5), 1))),)
CENTRE_FIRST: Events = with_centre((AT_ONCE,))[0]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval."""
    return float(np.mean(values)), float(1.96 * np.std(values, ddof=1) / len(values) ** 0.5)
