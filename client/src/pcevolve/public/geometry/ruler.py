"""Round distances of embeddings so that every machine and every repetition order candidates in the same way.

Networks compute in float32, and another processor adds numbers in another order. Distances are therefore rounded
to steps that are a hundred times as long as such differences. Two distances within one step are a tie, which the
first candidate wins. A forger can only exploit a distance near the edge of a step. The edges depend on the
measurement, so a provider cannot aim at them.

>>> Ruler.of([np.array([[3.0, 4.0]])], b"measured").step
0.00390625
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from pcevolve.public.geometry.distances import FloatArray

MACHINE_SHARE = 4e-6
"""Largest difference between two machines in an embedding, as a share of the largest norm.

Kernels for five generations of processors differ by 6.3e-7 in the bundled encoder
(``benchmarks/machines.py``).
"""
STEP_SHARE = 2.0**-10
"""Length of a step as a share of the largest norm."""


@dataclass(frozen=True)
class Ruler:
    """Steps to which distances are rounded.

    Attributes:
        step: Length of a step, a power of two.
        reach: Largest difference between two machines in an embedding.
        offset: Start of the first step, in steps, in [0, 1).
    """

    step: float
    reach: float
    offset: float = 0.0

    @classmethod
    def of(cls, pools: Sequence[FloatArray], measured: bytes) -> Self:
        """Return the ruler for candidates' embeddings, float64 ``(candidates, d)`` per class, after a measurement."""
        norms = [np.sqrt(np.square(pool[np.isfinite(pool).all(axis=1)]).sum(axis=1)) for pool in pools]
        largest = max((float(each.max(initial=0.0)) for each in norms), default=0.0) or 1.0
        step = STEP_SHARE * float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        offset = int.from_bytes(hashlib.sha256(measured).digest()[:4], "big") / 2**32
        return cls(step, MACHINE_SHARE * largest, offset)

    def count_steps(self, distances: FloatArray) -> FloatArray:
        """Round each distance to whole steps. Unusable candidates, whose distance is NaN, all get the same number."""
        return np.rint(np.nan_to_num(distances, nan=0.0) / self.step + self.offset)

    def bound_steps(self, distances: FloatArray, moved: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest number of steps that another machine may count.

        Args:
            moved: How many of the two points of each distance are embeddings (1 or 2). Only embeddings differ between
                machines.
        """
        low, high = (self.count_steps(distances + sign * moved * self.reach) for sign in (-1, 1))
        return np.maximum(low, 0.0), high
