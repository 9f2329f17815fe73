"""What events cost: pure, zero-concentrated, Renyi and Gaussian differential privacy. Arithmetic only.

Every accountant composes adaptively chosen events and turns the sum into an ε at a given δ. All results are rounded
so that they never understate the loss, and depend on the multiset of events alone: a plan that fits a budget still
fits when it is charged piece by piece.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pcevolve.privacy import Budget, Event, MechanismName

FloatArray = NDArray[np.float64]

SLACK = 1e-12
"""Relative rounding error of a formula's terms, generously: they are a few dozen operations of 2^-53 each."""
SMALL_RANGE = 1e-7
"""Below it, in nats, the simple bound on a Renyi curve is exact for all purposes, and the curve's formula is not."""


class Accountant(Protocol):
    """One way to bound the privacy loss of a composition."""

    @property
    def name(self) -> str:
        """What plans and reports call it."""
        ...

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """The smallest ε that it can prove at ``delta``; inf where it can prove none.

        Args:
            events: What happened, in any order; the neighbour relation is the one of their parameters.
            delta: In [0, 1).

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        ...


def merged(events: Iterable[Event]) -> tuple[Event, ...]:
    """The multiset of events that look at private data, in one canonical order, equal ones counted together."""
    counts: Counter[tuple[MechanismName, Fraction]] = Counter()
    for event in events:
        if not event.free:
            counts[event.mechanism, event.value] += event.count
    return tuple(Event(name, str(value), count) for (name, value), count in sorted(counts.items()))


def above(value: Fraction) -> float:
    """The smallest float that is not below ``value``: rounding never understates a loss."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """The exact sum of pure ε; None if an event has none.

    Source: sequential composition, Dwork et al. 2006.
    """
    spent = merged(events)
    if any(event.mechanism == "gaussian" for event in spent):
        return None
    return sum((event.value * event.count for event in spent), Fraction(0))


class PureAccountant:
    """ε-DP, in exact arithmetic; holds at every δ."""

    name = "pure"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """See ``Accountant.epsilon``."""
        _checked(delta)
        total = pure_epsilon(events)
        return math.inf if total is None else above(total)


class ZcdpAccountant:
    """ρ-zCDP: η²/8 for a bounded range η, ε²/2 for pure ε, 1/(2z²) for Gaussian noise; ρ is summed exactly.

    Source: Bun & Steinke 2016 (Propositions 1.3, 1.4, 1.6); bounded range: Cesar & Rogers 2021, Lemma 3.4.
    """

    name = "zcdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """See ``Accountant.epsilon``: ``ρ + 2 sqrt(ρ ln(1/δ))``."""
        spent = merged(events)
        if not spent or _hopeless(spent, _checked(delta)):
            return math.inf if spent else 0.0
        rho = above(sum((_RHO[event.mechanism](event.value) * event.count for event in spent), Fraction(0)))
        return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + SLACK)


class RenyiAccountant:
    """Renyi DP of every order, with the exact curves of bounded range, of pure ε and of Gaussian noise.

    Source: Mironov 2017; conversion: Canonne, Kamath & Steinke 2020, Proposition 12.
    """

    name = "rdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """See ``Accountant.epsilon``: the least of ``R_α + ln(1 - 1/α) - ln(δα)/(α - 1)`` over all α > 1.

        Every α proves an ε, so it is no matter of privacy how well the minimum is found.
        """
        spent = merged(events)
        if not spent or _hopeless(spent, _checked(delta)):
            return math.inf if spent else 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a cost beyond the floats is infinite
            return max(_minimum(lambda orders: _converted(spent, delta, orders)), 0.0)


class GaussianAccountant:
    """μ-GDP, exact for Gaussian noise alone: ``μ² = Σ count/z²``.

    Source: Dong, Roth & Su 2022, Corollary 3.3; Balle & Wang 2018, Theorem 8.
    """

    name = "gdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """See ``Accountant.epsilon``: the smallest ε with ``Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) <= δ``."""
        spent = merged(events)
        if not spent or _hopeless(spent, _checked(delta)):
            return math.inf if spent else 0.0
        if any(event.mechanism != "gaussian" for event in spent):
            return math.inf
        mu = math.sqrt(above(sum((event.count / event.value**2 for event in spent), Fraction(0)))) * (
            1 + SLACK
        )
        return _gaussian_epsilon(mu, delta)


PURE, ZCDP, RDP, GDP = PureAccountant(), ZcdpAccountant(), RenyiAccountant(), GaussianAccountant()
ACCOUNTANTS: tuple[Accountant, ...] = (PURE, ZCDP, RDP, GDP)


def epsilon(events: Iterable[Event], delta: float) -> float:
    """The least ε that any accountant proves for all events together; inf where none can at this δ.

    Raises:
        ValueError: ``delta`` is not in [0, 1).
    """
    return _least(merged(events), _checked(delta))


def within(events: Iterable[Event], budget: Budget) -> bool:
    """Whether the events fit a budget; the pure route is compared exactly, the others after rounding up.

    Raises:
        ValueError: The budget's δ is not in [0, 1).
    """
    spent = merged(events)
    pure = pure_epsilon(spent)
    if pure is not None and pure <= budget.epsilon:
        return True
    return epsilon(spent, budget.delta) <= budget.epsilon  # Python compares float and fraction exactly


@lru_cache(maxsize=4096)  # the ledger asks the same for every privacy unit of a run
def _least(spent: tuple[Event, ...], delta: float) -> float:
    return min(accountant.epsilon(spent, delta) for accountant in ACCOUNTANTS)


def _checked(delta: float) -> float:
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and below 1, not {delta}")
    return delta


def _hopeless(spent: tuple[Event, ...], delta: float) -> bool:
    # Only pure DP holds at δ = 0, and nothing bounds Gaussian noise of no width.
    return delta == 0 or any(event.mechanism == "gaussian" and event.value == 0 for event in spent)


_RHO: dict[MechanismName, Callable[[Fraction], Fraction]] = {
    "exponential": lambda eta: eta**2 / 8,
    "permute-and-flip": lambda pure: pure**2 / 2,
    "gaussian": lambda multiplier: 1 / (2 * multiplier**2),
}


def _renyi(event: Event, orders: FloatArray) -> FloatArray:
    """Renyi divergence of one event, rounded up; ``orders`` holds α - 1, which is exact near α = 1."""
    if event.mechanism == "exponential":
        return bounded_range_renyi(above(event.value), orders)
    linear = above(_RHO[event.mechanism](event.value)) * (1 + orders)
    if event.mechanism == "gaussian":
        return linear
    pure = above(event.value)
    bound = np.fmin(linear, pure)
    if pure < SMALL_RANGE or not math.isfinite(2 * pure):
        return bound
    return np.fmin(_two_outcomes(2 * pure, np.full_like(orders, pure), orders), bound)


def bounded_range_renyi(eta: float, orders: FloatArray) -> FloatArray:
    """Largest Renyi divergence of any two distributions whose log-ratios span at most ``eta``, rounded up.

    It is reached by two outcomes with log-ratios t and t - η, at the t where its derivative vanishes:
    ``η - t = ln(α/(α - 1)) + ln(1 - e^(-(α - 1)η)) - ln(1 - e^(-αη))``. It is at most η, and at most ``αη²/8``.

    Args:
        eta: Bounded range, in nats, >= 0.
        orders: float64, α - 1 > 0.

    Source: Dong, Durfee & Rogers 2020 for the two outcomes; Cesar & Rogers 2021 for η²/8-zCDP.
    """
    bound = np.fmin(eta, (1 + orders) * eta * (eta / 8) * (1 + SLACK))
    if eta < SMALL_RANGE or not math.isfinite(eta):
        return bound
    rest = np.log1p(1 / orders) + _log1mexp(orders * eta) - _log1mexp((1 + orders) * eta)
    return np.fmin(_two_outcomes(eta, np.clip(rest, 0, eta), orders), bound)


def _two_outcomes(eta: float, rest: FloatArray, orders: FloatArray) -> FloatArray:
    """Renyi divergence of two outcomes with log-ratios ``eta - rest`` and ``-rest``, rounded up.

    With p the first one's probability it is ``ln(p e^((α-1)(η-w)) + (1-p) e^(-(α-1)w)) / (α-1)``, w the rest. Close
    to 0 the sum is 1 plus very little, and ``expm1`` keeps the little.
    """
    log_p = _log1mexp(rest) - _log1mexp(eta)
    log_q = _log1mexp(eta - rest) - rest - _log1mexp(eta)
    up, down = orders * (eta - rest), -orders * rest
    with np.errstate(over="ignore", invalid="ignore"):  # where the sum is large, the other form is used
        little = np.log1p(np.exp(log_p) * np.expm1(up) + np.exp(log_q) * np.expm1(down))
    logs = np.where(orders * eta < 1, little, np.logaddexp(log_p + up, log_q + down))
    return np.asarray(logs / orders + SLACK * eta)


def _log1mexp(x: FloatArray | float) -> FloatArray:
    """``ln(1 - e^-x)`` for x >= 0, precise at both ends."""
    with np.errstate(divide="ignore"):
        return np.where(
            np.less(x, math.log(2)), np.log(-np.expm1(np.negative(x))), np.log1p(-np.exp(np.negative(x)))
        )


def _converted(spent: tuple[Event, ...], delta: float, orders: FloatArray) -> FloatArray:
    """ε that each order proves, rounded up."""
    renyi = sum((event.count * _renyi(event, orders) for event in spent), np.zeros_like(orders))
    terms = (
        renyi,
        np.log(orders) - np.log1p(orders),
        -math.log(delta) / orders,
        -np.log1p(orders) / orders,
    )
    return np.asarray(sum(terms) + SLACK * sum(np.abs(term) for term in terms))


def _minimum(bound: Callable[[FloatArray], FloatArray]) -> float:
    """The least value of a bound over α - 1, from 1e-8 to 1e14 in ever finer logarithmic grids."""
    low, high = math.log(1e-8), math.log(1e14)
    least = math.inf
    for points in (500, 40, 40, 40):
        grid = np.linspace(low, high, points)
        values = bound(np.exp(grid))
        best = int(np.argmin(values))
        least = min(least, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, points - 1)])
    return least


def _gaussian_epsilon(mu: float, delta: float) -> float:
    """Bisect to neighbouring floats; the upper one is known to be enough."""
    low, high = 0.0, (mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))) * (1 + SLACK)
    if not math.isfinite(high):
        return math.inf
    if _gaussian_delta(mu, low) <= delta:
        return low
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _gaussian_delta(mu, middle) <= delta else (middle, high)
    return high


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """δ of μ-GDP at ε, rounded up; logarithms, because both of its terms can be far below or above the floats."""
    from scipy.special import (
        log_ndtr,  # a quarter of a second, which a command that is refused need not wait for
    )

    first = float(log_ndtr(mu / 2 - epsilon / mu))
    tail = float(log_ndtr(-mu / 2 - epsilon / mu))
    gap = min(epsilon + tail - first, 0.0) - 0.01 * SLACK * (1 + epsilon - tail)
    return math.exp(first) * -math.expm1(gap) * (1 + SLACK)
