"""Sums on a grid of integers, each owner's share of the noise, and the addition of answers modulo 2^64.

An owner rounds its sum to multiples of a step, adds discrete Gaussian noise of variance ``sigma^2 / (N - t)``, and
masks the result. The masks cancel in the sum of all answers, which is the sum of all owners' data and noise.

Neighbouring data differ in one privacy unit, which is added, removed or replaced, as the plan says, in the data of at
most ``r`` owners. Rounding moves each entry of one owner's sum by at most half a step in each of the two neighbouring
datasets. The L2 sensitivity of one owner's sum therefore grows from ``D`` to ``D + step * sqrt(d)``. The noise is made
for the sensitivity of ``r`` owners, which is ``r (D + step * sqrt(d))``.

The sum of n discrete Gaussians is a discrete Gaussian of the summed variance up to ``tau`` in epsilon (Kairouz, Liu
and Steinke 2021, theorem 1). At these widths ``tau`` is smaller than any positive float.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import ProtocolError
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.privacy import Event

Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]
FINENESS: Final = 2.0**-32
"""Length of a step, as a share of the sensitivity. Rounding d values enlarges it by ``sqrt(d) / 2**32`` at most."""
LEAST_DEVIATION: Final = 2.0**22
"""Smallest standard deviation of an owner's share of the noise, in steps, at any step that a coordinator requests.

At a standard deviation of ``s`` steps, the discrete Gaussian's δ exceeds the continuous one's by a factor of at most
``1 + 0.8 / s^2``. Accountants use the continuous one. From this standard deviation on, the difference is smaller than
the effect of the additional width of the noise. A sum of discrete Gaussians is already a discrete Gaussian at much
smaller deviations.
"""
MOST: Final = 2**62
"""Largest absolute value of an entry. Twice this value would overflow and change its sign."""
_FAR = 16.0
"""Noise stays within this many standard deviations, except with probability 10^-56."""


@dataclass(frozen=True)
class Grid:
    """Rounding and noise of one access.

    Attributes:
        step: Length of a step in the units of the summed values. It is a power of two, so that nothing is rounded
            twice.
        deviation: Standard deviation sigma of the noise in the release, in steps.
        share: Standard deviation of each owner's share, in steps.
        bound: Largest absolute value that an entry of honest owners' sum can have, in steps.
    """

    step: float
    deviation: float
    share: float
    bound: float

    @classmethod
    def of(
        cls, sigma: float, event: Event, size: int, clinics: Clinics, units: int, step: float | None = None
    ) -> Grid:
        """Return the grid of a Gaussian access that would need noise ``sigma`` with a single owner.

        Args:
            sigma: ``z * D`` for the event's noise multiplier z and the sensitivity D of the values, or slightly more.
            size: Number of values, d.
            units: Nominal number of privacy units of all owners together.
            step: The step of a question. With None, the step is computed from the sensitivity.

        Raises:
            ProtocolError: The noise is so small, or the sums are so large, that the guarantee would not hold.
        """
        up = 1 + 2.0**-40  # more than these few roundings lose: noise may be a hair wider, never narrower
        sensitivity = sigma / float(event.value) * up
        step = step or FINENESS * 2.0 ** (math.frexp(sensitivity)[1] - 1)
        moved = sensitivity / step + math.sqrt(size)
        deviation = float(event.value) * clinics.holders * moved * up
        share = deviation / math.sqrt(clinics.honest) * up
        tau = 10 * len(clinics.owners) * math.exp(-(math.pi**2) * share**2)
        # The accounting assumes a discrete Gaussian of the summed variance, which is checked here.
        if share < LEAST_DEVIATION or tau > 0.0:
            raise ProtocolError(
                "the noise is too small to be summed over several owners: choose a smaller epsilon; no noise was "
                "drawn"
            )
        # Twice the nominal units, because the real number of units in a class may differ from the stated number.
        bound = 2 * units * sensitivity / step + _FAR * share * math.sqrt(len(clinics.owners))
        if bound > MOST:
            raise ProtocolError("so many units, or so much noise, do not fit into a sum; nothing was drawn")
        return cls(step, deviation, share, bound)

    def round(self, values: FloatArray) -> Integers:
        """Return values as integers, int64, in their shape. The result is private."""
        steps = np.rint(np.asarray(values, dtype=np.float64) / self.step)
        if not (np.isfinite(steps).all() and np.abs(steps).max(initial=0.0) < MOST):
            raise ProtocolError("the private side's sum does not fit into a release; nothing was drawn")
        return steps.astype(np.int64)

    def add_noise(self, steps: Integers) -> Integers:
        """Add an owner's share of the noise, from the operating system's randomness."""
        drawn = share_measurement(self.share)(steps.ravel().tolist())
        return np.asarray(drawn, dtype=np.int64).reshape(steps.shape)

    def add_up(self, answers: Sequence[Residues]) -> FloatArray:
        """Return the release: the sum of all owners' answers, float64, in the units of the values.

        Raises:
            ProtocolError: The answers differ in length, or the sum is too large for honest owners.
        """
        if len({each.shape for each in answers}) != 1:
            raise ProtocolError("the owners' answers differ in length: their versions or data do not agree")
        total = np.zeros(answers[0].shape, dtype=np.uint64)
        for each in answers:
            total = total + each  # modulo 2^64
        steps = total.view(np.int64)
        if np.abs(steps.astype(np.float64)).max(initial=0.0) > self.bound:
            raise ProtocolError(
                "the owners' answers cannot be the sum of that many units: an owner answered another "
                "question, or nonsense; nothing follows from them, and nobody's data can be read in them"
            )
        return np.asarray(steps.astype(np.float64) * self.step)


def share_measurement(deviation: float) -> Any:  # noqa: ANN401 - OpenDP ships no types
    """Return OpenDP's exact discrete Gaussian on integers. Its privacy map gives ``1 / (2 z^2)`` zCDP."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T=float), scale=deviation)


def to_residues(steps: Integers) -> Residues:
    """Return integers modulo 2^64, in one row."""
    return np.ascontiguousarray(steps).ravel().view(np.uint64)
