"""Compute ε for events under pure, zero-concentrated, Renyi and Gaussian differential privacy. Arithmetic only.

Each accountant adds up the losses of adaptively chosen events and converts the sum to an ε at a given δ. All
results are rounded up, so they never understate the loss. They depend only on the multiset of events. A plan
that fits a budget therefore still fits when its events are charged one at a time.

>>> round(epsilon([Event("gaussian", "1", count=2)], delta=1e-5), 3)
6.573
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from pcevolve.public.dp.curves import (
    ROUNDING_SHARE,
    SMALL_RANGE,
    FloatArray,
    bounded_range_renyi,
    gaussian_epsilon,
    two_outcomes_renyi,
)
from pcevolve.public.privacy import Budget, Event, MechanismName


class Accountant(Protocol):
    """One way to bound the privacy loss of adaptively composed events."""

    @property
    def name(self) -> str:
        """The name of this accountant in plans, exports and reports, such as ``"zcdp"``."""
        ...

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Return the smallest ε that this accountant can prove at ``delta``, or inf if it can prove none.

        Args:
            events: The events, in any order. ε holds for the neighbour relation that their parameters assume.
            delta: In [0, 1).

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        ...


def merge(events: Iterable[Event]) -> tuple[Event, ...]:
    """Add up the counts of equal events and sort the result. Events that read no private data are dropped."""
    counts: Counter[tuple[MechanismName, Fraction]] = Counter()
    for event in events:
        if not event.free:
            counts[event.mechanism, event.value] += event.count
    return tuple(Event(name, str(value), count) for (name, value), count in sorted(counts.items()))


def above(value: Fraction) -> float:
    """Return the smallest float that is not below ``value``, so that rounding never understates a loss."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """Return the exact sum of pure ε, or None if an event has no pure ε."""
    spent = merge(events)
    if any(event.mechanism == "gaussian" for event in spent):
        return None
    return sum((event.value * event.count for event in spent), Fraction(0))


class PureAccountant:
    """ε-DP in exact arithmetic; the result holds at every δ."""

    name = "pure"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Return the exact sum of the events' pure ε, rounded up to a float, or inf if an event is Gaussian.

        The result does not depend on ``delta``.

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        _require_delta(delta)
        total = pure_epsilon(events)
        return math.inf if total is None else above(total)


class ZcdpAccountant:
    """ρ-zCDP, with ρ summed exactly.

    A bounded range η costs ρ = η²/8, a pure ε costs ε²/2, and a noise multiplier z costs 1/(2z²).

    Source: Bun & Steinke 2016 (Propositions 1.3, 1.4, 1.6); bounded range: Cesar & Rogers 2021, Lemma 3.4.
    """

    name = "zcdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Return ``ρ + 2 sqrt(ρ ln(1/δ))``, rounded up, or inf at δ = 0 if an event reads private data.

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        spent = merge(events)
        if not spent or _hopeless(spent, _require_delta(delta)):
            return math.inf if spent else 0.0
        rho = above(sum((_RHO[event.mechanism](event.value) * event.count for event in spent), Fraction(0)))
        return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + ROUNDING_SHARE)


class RenyiAccountant:
    """Renyi DP at every order, computed from the exact curves of bounded range, pure ε and Gaussian noise.

    Source: Mironov 2017; conversion: Canonne, Kamath & Steinke 2020, Proposition 12.
    """

    name = "rdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Return the minimum of ``R_α + ln(1 - 1/α) - ln(δα)/(α - 1)`` over α > 1, rounded up, or inf at δ = 0.

        Every α proves a valid ε, so a search that misses the exact minimum only overstates the loss.

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        spent = merge(events)
        if not spent or _hopeless(spent, _require_delta(delta)):
            return math.inf if spent else 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a cost beyond the floats is infinite
            return max(_minimum(lambda orders: _convert(spent, delta, orders)), 0.0)


class GaussianAccountant:
    """μ-GDP with ``μ² = Σ count/z²``. It is exact for Gaussian noise and covers no other mechanism.

    Source: Dong, Roth & Su 2022, Corollary 3.3; Balle & Wang 2018, Theorem 8.
    """

    name = "gdp"

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Return the smallest ε with ``Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) <= δ``, rounded up.

        The result is inf if an event is not Gaussian.

        Raises:
            ValueError: ``delta`` is not in [0, 1).
        """
        spent = merge(events)
        if not spent or _hopeless(spent, _require_delta(delta)):
            return math.inf if spent else 0.0
        if any(event.mechanism != "gaussian" for event in spent):
            return math.inf
        return gaussian_epsilon(gaussian_mu(spent), delta)


PURE, ZCDP, RDP, GDP = PureAccountant(), ZcdpAccountant(), RenyiAccountant(), GaussianAccountant()
ACCOUNTANTS: tuple[Accountant, ...] = (PURE, ZCDP, RDP, GDP)


def epsilon(events: Iterable[Event], delta: float) -> float:
    """Return the least ε that any accountant proves for all events together, or inf if none proves one at this δ.

    Raises:
        ValueError: ``delta`` is not in [0, 1).
    """
    return _least(merge(events), _require_delta(delta))


def within(events: Iterable[Event], budget: Budget) -> bool:
    """Return True if the events fit a budget.

    A sum of pure ε is compared exactly. The ε of the other accountants is compared after it was rounded up.

    Raises:
        ValueError: The budget's δ is not in [0, 1).
    """
    spent = merge(events)
    pure = pure_epsilon(spent)
    if pure is not None and pure <= budget.epsilon:
        return True
    return epsilon(spent, budget.delta) <= budget.epsilon  # Python compares float and fraction exactly


@lru_cache(maxsize=4096)  # the ledger asks the same for every privacy unit of a run
def _least(spent: tuple[Event, ...], delta: float) -> float:
    return min(accountant.epsilon(spent, delta) for accountant in ACCOUNTANTS)


def _require_delta(delta: float) -> float:
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be at least 0 and below 1, not {delta}")
    return delta


def _hopeless(spent: tuple[Event, ...], delta: float) -> bool:
    # At δ = 0 only pure DP gives a finite ε. Gaussian noise of width 0 gives none at any δ.
    bare = any(event.mechanism == "gaussian" and event.value == 0 for event in spent)
    return delta == 0 or bare


_RHO: dict[MechanismName, Callable[[Fraction], Fraction]] = {
    "exponential": lambda eta: eta**2 / 8,
    "permute-and-flip": lambda pure: pure**2 / 2,
    "gaussian": lambda multiplier: 1 / (2 * multiplier**2),
}


def gaussian_mu(spent: Iterable[Event]) -> float:
    """Return the parameter μ of the composed Gaussian events, rounded up.

    Args:
        spent: Gaussian events only, with noise multipliers above 0.
    """
    total = sum((event.count / event.value**2 for event in spent), Fraction(0))
    return math.sqrt(above(total)) * (1 + ROUNDING_SHARE)


def renyi_divergences(spent: Iterable[Event], orders: FloatArray) -> FloatArray:
    """Return the Renyi divergences of all events together between neighbouring datasets, rounded up.

    Args:
        spent: The events. The noise multipliers of Gaussian events are above 0.
        orders: The orders as float64 values α - 1 > 0.

    Returns:
        float64, one divergence for each order.
    """
    return sum((event.count * _renyi(event, orders) for event in spent), np.zeros_like(orders))


def _renyi(event: Event, orders: FloatArray) -> FloatArray:
    """Return the Renyi divergences of one event, rounded up.

    ``orders`` are given as α - 1, because α itself would lose digits near 1.
    """
    if event.mechanism == "exponential":
        return bounded_range_renyi(above(event.value), orders)
    linear = above(_RHO[event.mechanism](event.value)) * (1 + orders)
    if event.mechanism == "gaussian":
        return linear
    pure = above(event.value)
    bound = np.fmin(linear, pure)
    if pure < SMALL_RANGE or not math.isfinite(2 * pure):
        return bound
    return np.fmin(two_outcomes_renyi(2 * pure, np.full_like(orders, pure), orders), bound)


def _convert(spent: tuple[Event, ...], delta: float, orders: FloatArray) -> FloatArray:
    """Return the ε that each order proves, rounded up."""
    terms = (
        renyi_divergences(spent, orders),
        np.log(orders) - np.log1p(orders),
        -math.log(delta) / orders,
        -np.log1p(orders) / orders,
    )
    return np.asarray(sum(terms) + ROUNDING_SHARE * sum(np.abs(term) for term in terms))


def _minimum(bound: Callable[[FloatArray], FloatArray]) -> float:
    """Minimise a bound over α - 1 in [1e-8, 1e14], on ever finer logarithmic grids."""
    low, high = math.log(1e-8), math.log(1e14)
    least = math.inf
    for points in (500, 40, 40, 40):
        grid = np.linspace(low, high, points)
        values = bound(np.exp(grid))
        best = int(np.argmin(values))
        least = min(least, float(values[best]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, points - 1)])
    return least
