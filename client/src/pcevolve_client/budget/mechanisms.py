"""Draws that may leave the private side.

The exponential mechanism is OpenDP's exact one (report noisy max with Gumbel noise from the operating system's
CSPRNG). Nothing else in the client draws privacy noise.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import linf_distance
from opendp.mod import enable_features

from .accounting import below

FloatArray = NDArray[np.float64]

enable_features("contrib")  # noisy max is one of OpenDP's contributed, proof-carrying mechanisms


class Mechanism(Protocol):
    """A randomised choice of one index."""

    @property
    def name(self) -> str:
        """What receipts call it."""
        ...

    @property
    def noise(self) -> Literal["os-csprng", "INSECURE-seeded"]:
        """Where its randomness comes from."""
        ...

    def choose(self, key: str, utility: FloatArray, epsilon: Fraction) -> int:
        """Draw an index with probability proportional to ``exp(epsilon * utility / 2)``.

        ε-DP under both neighbour relations when changing one record moves each entry by at most 1.

        Args:
            key: Public name of the query; only the insecure mode uses it.
            utility: float64 ``(candidates,)``, nominally in [0, 1]; see ``clamped``.
            epsilon: Pure-DP cost, > 0.

        Source: McSherry & Talwar 2007.
        """
        ...


def clamped(utility: FloatArray) -> FloatArray:
    """Force a utility into [0, 1], entry by entry: NaN and -inf become 0, +inf becomes 1.

    The rule looks at nothing but the entry, so it keeps the sensitivity at 1 whatever a provider sends.
    """
    return np.clip(np.nan_to_num(utility, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


class ExponentialMechanism:
    """OpenDP's exponential mechanism, sensitivity 1, utility not monotone."""

    name = "exponential"
    noise: Literal["os-csprng"] = "os-csprng"

    def choose(self, key: str, utility: FloatArray, epsilon: Fraction) -> int:
        """See ``Mechanism.choose``."""
        measurement = self.measurement(epsilon)
        return int(measurement(clamped(utility).tolist()))

    @staticmethod
    def measurement(epsilon: Fraction) -> Any:  # noqa: ANN401 - OpenDP ships no types
        """The OpenDP measurement; its zCDP map says ``epsilon**2 / 8``, the mark of bounded range."""
        scale = math.nextafter(2 / below(epsilon), math.inf)
        domain = vector_domain(atom_domain(T=float, nan=False))
        metric = linf_distance(T=float, monotonic=False)
        return make_noisy_max(domain, metric, zero_concentrated_divergence(), scale=scale)


class UniformChoice:
    """A choice that looks at nothing: the ``random`` control. Costs nothing."""

    name = "uniform"
    noise: Literal["os-csprng"] = "os-csprng"

    def choose(self, key: str, utility: FloatArray, epsilon: Fraction) -> int:
        """Draw any index; only the number of entries matters."""
        return secrets.randbelow(len(utility))


class InsecureSeeded:
    """The same distributions from a seed, for tests and benchmarks. Gives NO privacy; marked wherever it was."""

    noise: Literal["INSECURE-seeded"] = "INSECURE-seeded"

    def __init__(self, seed: int, of: ExponentialMechanism | UniformChoice) -> None:
        self.name = of.name
        self._seed = seed

    def choose(self, key: str, utility: FloatArray, epsilon: Fraction) -> int:
        """Draw as ``of`` would, repeatably for the same seed and key."""
        digest = hashlib.sha256(f"{self._seed}/{key}".encode()).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:16], "big"))
        scores = clamped(utility) if self.name == "exponential" else np.zeros(len(utility))
        return int(np.argmax(below(epsilon) * scores / 2 + generator.gumbel(size=len(scores))))
