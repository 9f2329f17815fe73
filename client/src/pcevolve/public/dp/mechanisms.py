"""The draws that may leave the private side: all privacy noise in the client comes from this file.

``SecureNoise`` wraps OpenDP: exact samplers (no floating-point side channels, Mironov 2012) fed by the
operating system's CSPRNG. ``SeededNoise`` has the same distributions from a seed and gives no privacy.
Neither knows the meaning of its scores: the selector states the sensitivity, the event states the cost.

>>> SeededNoise(seed=1).exponential("release 0", np.array([0.0, 1.0]), rate=Fraction(40))
1
"""

from __future__ import annotations

import hashlib
import math
import secrets
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Source = Literal["os-csprng", "INSECURE-seeded"]


class Noise(Protocol):
    """A source of the noise that protects a privacy unit: exponential mechanism and Gaussian noise.

    ``sensitivity`` below is the most that one entry of ``scores`` moves between neighbouring datasets;
    "monotone" means that all entries move in the same direction. ``key`` is public and names the draw. Secure
    noise ignores it; seeded noise returns the same draw for the same mechanism and key.
    """

    @property
    def source(self) -> Source:
        """This source's name in receipts and reports."""
        ...

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw index i with probability proportional to ``exp(rate · scores[i])``.

        Its bounded range is η = 2 · rate · sensitivity (half of it when monotone): η-DP and η²/8-zCDP.

        Args:
            scores: Finite float64 ``(candidates,)``, at least one; see ``clamp``.
            rate: Nats per unit of score, > 0.

        Raises:
            ValueError: No scores, scores that are not finite, or a rate that is not positive; nothing was drawn.

        Source: McSherry & Talwar 2007; bounded range: Dong, Durfee & Rogers 2020.
        """
        ...

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add independent N(0, σ²) noise to every entry.

        Its noise multiplier is z = sigma / (L2 sensitivity of ``values``): 1/(2z²)-zCDP and 1/z-GDP.

        Args:
            values: Finite float64 array of any shape. Secure noise takes some 50 µs per entry: 15 s for a
                hundred images of 3 · 32 · 32 values.
            sigma: Standard deviation, in the units of ``values``, > 0 and finite.

        Returns:
            Noisy values in the same shape.

        Raises:
            ValueError: Values that are not finite, or a sigma that is not a positive number; nothing was
                drawn.

        Source: Dwork et al. 2006; discretised as in Canonne, Kamath & Steinke 2020.
        """
        ...

    def uniform(self, key: str, count: int) -> int:
        """Draw an index in [0, count), count >= 1, uniformly. It reads no private data and costs nothing."""
        ...


class SecureNoise:
    """OpenDP's exact mechanisms on the operating system's randomness: the only noise that gives privacy."""

    source: Literal["os-csprng"] = "os-csprng"

    def __init__(self) -> None:
        _vectors()  # a machine that cannot load OpenDP finds out before anything is paid for

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw an index with OpenDP's exact Gumbel noise."""
        return int(exponential_measurement(rate)(_finite_scores(scores).tolist()))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add OpenDP's discrete Gaussian noise to every entry."""
        # One draw for the whole vector: OpenDP's map bounds the L2 norm of all entries together, as the event does.
        noisy = gaussian_measurement(sigma)(_finite(values).ravel().tolist())
        return np.asarray(noisy, dtype=np.float64).reshape(np.shape(values))

    def uniform(self, key: str, count: int) -> int:
        """Draw an index below ``count`` from the operating system's CSPRNG."""
        # Not the seeded generator of the plan: an observer who knows the plan must not know the draw.
        return secrets.randbelow(count)


class SeededNoise:
    """The distributions of ``SecureNoise`` from a seed, for tests and benchmarks.

    INSECURE: they give no privacy.
    """

    source: Literal["INSECURE-seeded"] = "INSECURE-seeded"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw an index by the exponential mechanism: the largest score after Gumbel noise."""
        # The scale that the secure sampler uses, and not ``1 / rate``: tests compare the distributions of the two.
        exponents = _finite_scores(scores) / noise_scale(rate)
        noise = self._generator("exponential", key).gumbel(size=len(exponents))
        return int(np.argmax(exponents + noise))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add seeded N(0, σ²) noise to every entry; the same key, seed and shape get the same noise."""
        noise = self._generator("gaussian", key).normal(size=np.shape(values))
        return np.asarray(_finite(values) + _positive(sigma) * noise, dtype=np.float64)

    def uniform(self, key: str, count: int) -> int:
        """Draw an index below ``count``; the same key and seed get the same index."""
        return int(self._generator("uniform", key).integers(count))

    def _generator(self, mechanism: str, key: str) -> np.random.Generator:
        # By name and not by order: a resumed run draws the same although it skips what was committed.
        digest = hashlib.sha256(f"{self._seed}/{mechanism}/{key}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def clamp(scores: FloatArray, low: float = 0.0, high: float = 1.0) -> FloatArray:
    """Force scores into [low, high], entry by entry: NaN and -inf become ``low``, +inf becomes ``high``.

    Each entry depends on itself alone, so clamping never increases a sensitivity, whatever a provider sends.
    """
    # NaN first: ``np.clip`` lets it through, and one NaN would be a score that no bound holds for.
    return np.clip(np.nan_to_num(scores, nan=low, posinf=high, neginf=low), low, high)


def noise_scale(rate: Fraction) -> float:
    """Return the smallest float that is not below ``1 / rate``: rounding adds noise and never costs privacy."""
    # A rate of 0 would mean infinite noise, which OpenDP cannot draw; such a draw is uniform and free.
    if rate <= 0:
        raise ValueError(f"the rate of a draw must be above 0, not {rate}")
    scale = float(1 / rate)
    # ``float`` rounds to nearest, which is as often down.
    # Compared as fractions, because the comparison of floats would round again.
    return scale if Fraction(scale) >= 1 / rate else math.nextafter(scale, math.inf)


@lru_cache(maxsize=32)  # a measurement has no state
def exponential_measurement(rate: Fraction) -> Any:  # noqa: ANN401 - OpenDP ships no types
    """Build OpenDP's exponential mechanism; its privacy map gives η²/8-zCDP, the cost of a bounded range η."""
    from opendp.measurements import make_noisy_max
    from opendp.measures import zero_concentrated_divergence
    from opendp.metrics import linf_distance

    # Not monotonic: that only makes OpenDP's map the dearer of the two; the draw itself is the same.
    metric = linf_distance(T=float, monotonic=False)
    return make_noisy_max(_vectors(), metric, zero_concentrated_divergence(), scale=noise_scale(rate))


@lru_cache(maxsize=32)
def gaussian_measurement(sigma: float) -> Any:  # noqa: ANN401
    """Build OpenDP's Gaussian mechanism; its privacy map gives 1/(2z²)-zCDP.

    The noise is a discrete Gaussian on the grid of all float64 values (OpenDP's default granularity,
    2^-1074), so inputs are not rounded before the noise. The result is rounded only after it, which is
    post-processing. A coarser grid is four times as fast but adds to the sensitivity.
    """
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(_vectors(), l2_distance(T=float), scale=_positive(sigma))


def _vectors() -> Any:  # noqa: ANN401
    # SciPy and OpenDP load with the first noise: pricing a method does not wait for them.
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")  # noisy max is one of OpenDP's contributed, proof-carrying mechanisms
    return vector_domain(atom_domain(T=float, nan=False))


def _positive(sigma: float) -> float:
    if not 0 < sigma < math.inf:
        raise ValueError(f"the noise's standard deviation must be a finite number above 0, not {sigma}")
    return float(sigma)


def _finite_scores(scores: FloatArray) -> FloatArray:
    if np.ndim(scores) != 1 or len(scores) == 0:
        raise ValueError(f"scores must be a vector with at least one entry, not {np.shape(scores)}")
    return _finite(scores)


def _finite(values: FloatArray) -> FloatArray:
    # OpenDP would read NaN as 0 and clip infinities without a word; errors name no value, they may be private.
    finite = np.asarray(values, dtype=np.float64)
    if not np.isfinite(finite).all():
        raise ValueError("not all values are finite: clamp them before the draw")
    return finite
