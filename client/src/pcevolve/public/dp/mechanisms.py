"""Draw noise. All privacy noise in the client comes from this module.

``SecureNoise`` wraps OpenDP's exact samplers, which have no floating-point side channels (Mironov 2012). Their
randomness comes from the operating system's CSPRNG. ``SeededNoise`` draws from the same distributions with a
seed and gives no privacy. Neither class knows the meaning of its scores: the selector states the sensitivity,
and the event states the cost.

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
    """A source of the noise that protects a privacy unit: the exponential mechanism and Gaussian noise.

    The sensitivity of ``scores`` is the largest change of one entry between neighbouring datasets. Scores are monotone
    if all entries change in the same direction. ``key`` is public and names the draw. Secure noise ignores it. Seeded
    noise returns the same draw for the same mechanism and key.
    """

    @property
    def source(self) -> Source:
        """The name of this source in receipts and reports."""
        ...

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw index i with probability proportional to ``exp(rate · scores[i])``.

        The draw has a bounded range η of 2 · rate · sensitivity, or half of this if the scores are monotone. It is
        therefore η-DP and η²/8-zCDP.

        Args:
            scores: Finite float64 ``(candidates,)``, at least one. ``clamp`` makes scores finite.
            rate: Nats per unit of score, > 0.

        Raises:
            ValueError: There are no scores, a score is not finite, or the rate is not positive. Nothing was drawn.

        Source: McSherry & Talwar 2007; bounded range: Dong, Durfee & Rogers 2020.
        """
        ...

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add independent N(0, σ²) noise to every entry.

        The noise multiplier is z = sigma / (L2 sensitivity of ``values``), so the result is 1/(2z²)-zCDP and 1/z-GDP.

        Args:
            values: Finite float64 array of any shape. Secure noise takes about 50 µs per entry, or 15 s for a hundred
                images of 3 · 32 · 32 values.
            sigma: Standard deviation, in the units of ``values``, > 0 and finite.

        Returns:
            The noisy values, in the same shape.

        Raises:
            ValueError: A value is not finite, or sigma is not a finite positive number. Nothing was drawn.

        Source: Dwork et al. 2006; discretised as in Canonne, Kamath & Steinke 2020.
        """
        ...

    def uniform(self, key: str, count: int) -> int:
        """Draw an index in [0, count) uniformly, for count >= 1. The draw reads no private data and costs nothing."""
        ...


class SecureNoise:
    """OpenDP's exact mechanisms with the operating system's randomness. No other noise gives privacy."""

    source: Literal["os-csprng"] = "os-csprng"

    def __init__(self) -> None:
        _vectors()  # a machine that cannot load OpenDP finds out before anything is paid for

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw an index with OpenDP's exact Gumbel noise."""
        return int(exponential_measurement(rate)(_finite_scores(scores).tolist()))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add OpenDP's discrete Gaussian noise to every entry."""
        # One draw for the whole vector: OpenDP's map and the event both bound the L2 norm of all entries together.
        noisy = gaussian_measurement(sigma)(_finite(values).ravel().tolist())
        return np.asarray(noisy, dtype=np.float64).reshape(np.shape(values))

    def uniform(self, key: str, count: int) -> int:
        """Draw an index below ``count`` from the operating system's CSPRNG."""
        # The plan's seeded generator would be wrong here: the plan is public, and its readers must not know the draw.
        return secrets.randbelow(count)


class SeededNoise:
    """The distributions of ``SecureNoise``, drawn from a seed for tests and benchmarks.

    INSECURE: these draws give no privacy.
    """

    source: Literal["INSECURE-seeded"] = "INSECURE-seeded"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """Draw an index by the exponential mechanism: the largest score after Gumbel noise is added."""
        # The scale of the secure sampler, which can differ from ``1 / rate``, because tests compare both distributions.
        exponents = _finite_scores(scores) / noise_scale(rate)
        noise = self._generator("exponential", key).gumbel(size=len(exponents))
        return int(np.argmax(exponents + noise))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Add seeded N(0, σ²) noise to every entry. The same key, seed and shape always give the same noise."""
        noise = self._generator("gaussian", key).normal(size=np.shape(values))
        return np.asarray(_finite(values) + _positive(sigma) * noise, dtype=np.float64)

    def uniform(self, key: str, count: int) -> int:
        """Draw an index below ``count``. The same key and seed always give the same index."""
        return int(self._generator("uniform", key).integers(count))

    def _generator(self, mechanism: str, key: str) -> np.random.Generator:
        # Seeded by the name of the draw, so a resumed run, which skips completed draws, gets the same later draws.
        digest = hashlib.sha256(f"{self._seed}/{mechanism}/{key}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def clamp(scores: FloatArray, low: float = 0.0, high: float = 1.0) -> FloatArray:
    """Force each score into [low, high]. NaN and -inf become ``low``, and +inf becomes ``high``.

    Each entry of the result depends on one score only, so clamping never increases a sensitivity, whatever a
    provider sends.
    """
    # ``np.clip`` passes NaN through, and no bound holds for a NaN score. NaN is therefore replaced first.
    return np.clip(np.nan_to_num(scores, nan=low, posinf=high, neginf=low), low, high)


def noise_scale(rate: Fraction) -> float:
    """Return the smallest float that is not below ``1 / rate``. Rounding up adds noise, so it never costs privacy."""
    # A rate of 0 would need infinite noise, which OpenDP cannot draw. Callers draw uniformly instead, at no cost.
    if rate <= 0:
        raise ValueError(f"the rate of a draw must be above 0, not {rate}")
    scale = float(1 / rate)
    # ``float`` rounds to nearest and may round down. Fractions are compared, because a float comparison would round
    # again.
    return scale if Fraction(scale) >= 1 / rate else math.nextafter(scale, math.inf)


@lru_cache(maxsize=32)  # a measurement has no state
def exponential_measurement(rate: Fraction) -> Any:  # noqa: ANN401 - OpenDP ships no types
    """Build OpenDP's exponential mechanism. Its privacy map gives η²/8-zCDP, the cost of a bounded range η."""
    from opendp.measurements import make_noisy_max
    from opendp.measures import zero_concentrated_divergence
    from opendp.metrics import linf_distance

    # The draw does not depend on ``monotonic``. False selects the larger of OpenDP's two costs, which always holds.
    metric = linf_distance(T=float, monotonic=False)
    return make_noisy_max(_vectors(), metric, zero_concentrated_divergence(), scale=noise_scale(rate))


@lru_cache(maxsize=32)
def gaussian_measurement(sigma: float) -> Any:  # noqa: ANN401
    """Build OpenDP's Gaussian mechanism; its privacy map gives 1/(2z²)-zCDP.

    The noise is a discrete Gaussian on the grid of all float64 values. This grid is OpenDP's default granularity of
    2^-1074, so inputs are not rounded before the noise is added. Only the result is rounded, which is
    post-processing. A coarser grid would be four times as fast, but would increase the sensitivity.
    """
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(_vectors(), l2_distance(T=float), scale=_positive(sigma))


def _vectors() -> Any:  # noqa: ANN401
    # SciPy and OpenDP are loaded when the first noise is drawn, so commands that only price a method start quickly.
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
    # OpenDP would silently read NaN as 0 and clip infinities. The error names no value, because values may be private.
    finite = np.asarray(values, dtype=np.float64)
    if not np.isfinite(finite).all():
        raise ValueError("not all values are finite: clamp them before the draw")
    return finite
