"""Curves of single mechanisms: Renyi divergences, and δ as a function of ε for Gaussian noise. Arithmetic only.

All results are rounded up by more than the rounding error of their formulas, so they never understate a loss.

>>> round(gaussian_epsilon(mu=1.0, delta=1e-5), 3)
4.377
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ROUNDING_SHARE = 1e-12
"""Bound on the relative rounding error of a formula. A few dozen operations of 2^-53 each stay far below it."""
SMALL_RANGE = 1e-7
"""Smallest bounded range, in nats, at which the exact formula of a Renyi curve is used.

Below this range, the formula is hardly smaller than the simple bound, and loses its significant digits.
"""


def bounded_range_renyi(eta: float, orders: FloatArray) -> FloatArray:
    """Return the largest Renyi divergence of two distributions whose log-ratios span at most ``eta``, rounded up.

    Two outcomes with log-ratios t and t - η attain the maximum, at the t where the derivative vanishes:
    ``η - t = ln(α/(α - 1)) + ln(1 - e^(-(α - 1)η)) - ln(1 - e^(-αη))``. The divergence is at most η and at most
    ``αη²/8``.

    Args:
        eta: Bounded range, in nats, >= 0.
        orders: The orders as float64 values α - 1 > 0.

    Source: Dong, Durfee & Rogers 2020 for the two outcomes; Cesar & Rogers 2021 for η²/8-zCDP.
    """
    # These two bounds hold for every η. The curve below is smaller, but its formula loses digits near 0.
    bound = np.fmin(eta, (1 + orders) * eta * (eta / 8) * (1 + ROUNDING_SHARE))
    if eta < SMALL_RANGE or not math.isfinite(eta):
        return bound
    rest = np.log1p(1 / orders) + _log1mexp(orders * eta) - _log1mexp((1 + orders) * eta)
    return np.fmin(two_outcomes_renyi(eta, np.clip(rest, 0, eta), orders), bound)


def two_outcomes_renyi(eta: float, rest: FloatArray, orders: FloatArray) -> FloatArray:
    """Return the Renyi divergence of two outcomes with log-ratios ``eta - rest`` and ``-rest``, rounded up.

    Let p be the first outcome's probability and w be ``rest``. The divergence is then
    ``ln(p e^((α-1)(η-w)) + (1-p) e^(-(α-1)w)) / (α-1)``. For a divergence near 0 the sum is barely above 1, so
    ``expm1`` is used to keep its digits.
    """
    log_p = _log1mexp(rest) - _log1mexp(eta)
    log_q = _log1mexp(eta - rest) - rest - _log1mexp(eta)
    up, down = orders * (eta - rest), -orders * rest
    with np.errstate(over="ignore", invalid="ignore"):  # where the sum is large, the other form is used
        little = np.log1p(np.exp(log_p) * np.expm1(up) + np.exp(log_q) * np.expm1(down))
    logs = np.where(orders * eta < 1, little, np.logaddexp(log_p + up, log_q + down))
    return np.asarray(logs / orders + ROUNDING_SHARE * eta)


def _log1mexp(x: FloatArray | float) -> FloatArray:
    """Return ``ln(1 - e^-x)`` for x >= 0, precise both near 0 and for large x."""
    with np.errstate(divide="ignore"):
        return np.where(
            np.less(x, math.log(2)), np.log(-np.expm1(np.negative(x))), np.log1p(-np.exp(np.negative(x)))
        )


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest float ε with ``gaussian_delta(mu, ε) <= delta``, or inf if no float is large enough.

    Args:
        mu: Parameter of Gaussian differential privacy, > 0.
        delta: In (0, 1).

    Source: Balle & Wang 2018, Theorem 8.
    """
    # The zCDP conversion is never below the exact ε, so it is an upper limit for the search.
    low, high = 0.0, (mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))) * (1 + ROUNDING_SHARE)
    if not math.isfinite(high):
        return math.inf
    if gaussian_delta(mu, low) <= delta:
        return low
    # Bisect down to neighbouring floats and return the upper one, so that the result cannot be rounded down.
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    return high


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return ``Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2)``, the δ of μ-GDP at ε, rounded up.

    The difference is computed from logarithms, because both terms can overflow or underflow.

    Source: Dong, Roth & Su 2022, Corollary 2.13; Balle & Wang 2018, Theorem 8.
    """
    first = log_normal_cdf(mu / 2 - epsilon / mu)
    tail = log_normal_cdf(-mu / 2 - epsilon / mu)
    # The gap is below 0 in exact arithmetic. A margin for its rounding error is subtracted, which makes δ larger.
    gap = min(epsilon + tail - first, 0.0) - 0.01 * ROUNDING_SHARE * (1 + epsilon - tail)
    return math.exp(first) * -math.expm1(gap) * (1 + ROUNDING_SHARE)


def normal_cdf(x: float) -> float:
    """Return Φ(x) with a relative error of about 1e-13, even if Φ(x) is close to 0.

    The function calls the C library, because loading SciPy would take a quarter of a short command's time.
    """
    return math.erfc(-x / math.sqrt(2)) / 2


_FAR: Final = (
    -30.0
)  # where erfc is still far from the least floats, and what the series below leaves out is 2e-14
_TERMS: Final = 6


def log_normal_cdf(x: float) -> float:
    """Return ``ln Φ(x)``, even if Φ(x) underflows.

    Far below zero the alternating series of Φ(x)/φ(x) is used. Its first omitted term bounds the error.

    Source: Abramowitz & Stegun 1964, 26.2.12.
    """
    if x > 0:
        return math.log1p(-normal_cdf(-x))
    if x > _FAR:
        return math.log(normal_cdf(x))
    term, rest = 1.0, 0.0
    for k in range(1, _TERMS):
        term *= -(2 * k - 1) / (x * x)
        rest += term
    return -x * x / 2 - math.log(-x) - math.log(2 * math.pi) / 2 + math.log1p(rest)
