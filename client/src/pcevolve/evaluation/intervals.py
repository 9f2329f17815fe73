"""A figure over runs of equal settings, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

LEVEL = 0.95
FEWEST = 3
"""Seeds of an interval; that of two is wider than the axis."""


@dataclass(frozen=True)
class Value:
    """A figure over seeds; ``half`` of its interval at ``LEVEL`` by Student's t is None for fewer than ``FEWEST``."""

    mean: float
    half: float | None
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Value:
        """Summarise at least one figure."""
        count = len(values)
        if count < FEWEST:
            return cls(float(np.mean(values)), None, count)
        error = float(np.std(values, ddof=1)) / math.sqrt(count)
        return cls(float(np.mean(values)), float(student.ppf((1 + LEVEL) / 2, count - 1)) * error, count)
