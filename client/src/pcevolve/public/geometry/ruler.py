"""How distances of embeddings are compared, so that two machines, and the same machine twice, find the same order.

Networks compute in float32, and their sums come in another order on another processor. Distances are therefore rounded
to steps, a hundred times as long as such differences are: what lies within a step is a tie, and the candidate that
comes first wins it. What remains to a forger is a distance on the edge of a step. Where edges lie follows from what was
measured, so no provider can aim at them.

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
"""Share of the largest norm by which two machines may differ in an embedding. Kernels for five generations of
processors differ by 6.3e-7 in the bundled encoder's (``benchmarks/machines.py``)."""
STEP_SHARE = 2.0**-10
"""Share of that norm that is a step."""


@dataclass(frozen=True)
class Ruler:
    """Steps to which distances are rounded.

    Attributes:
        step: Of a distance; a power of two.
        offset: In [0, 1), of a step: where the first begins.
        reach: By how much two machines may differ in an embedding.
    """

    step: float
    reach: float
    offset: float = 0.0

    @classmethod
    def of(cls, pools: Sequence[FloatArray], measured: bytes) -> Self:
        """The ruler for candidates' embeddings, of each class float64 ``(candidates, d)``, after a measurement."""
        norms = [np.sqrt(np.square(pool[np.isfinite(pool).all(axis=1)]).sum(axis=1)) for pool in pools]
        largest = max((float(each.max(initial=0.0)) for each in norms), default=0.0) or 1.0
        step = STEP_SHARE * float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        offset = int.from_bytes(hashlib.sha256(measured).digest()[:4], "big") / 2**32
        return cls(step, MACHINE_SHARE * largest, offset)

    def count_steps(self, distances: FloatArray) -> FloatArray:
        """Whole steps, nearest to each distance; candidates that are none lie at 0, all alike."""
        return np.rint(np.nan_to_num(distances, nan=0.0) / self.step + self.offset)

    def bound_steps(self, distances: FloatArray, moved: int = 1) -> tuple[FloatArray, FloatArray]:
        """Fewest and most steps that another machine may count; ``moved`` ends of a distance are embeddings."""
        low, high = (self.count_steps(distances + sign * moved * self.reach) for sign in (-1, 1))
        return np.maximum(low, 0.0), high
