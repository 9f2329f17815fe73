"""How often somebody who has to tell two neighbouring datasets apart can be right: the trade-off curve, in arithmetic.

A release under (ε, δ)-DP bounds every test of one dataset against its neighbour: with false positives in a share α of
cases, true positives are at most ``min(e^ε α + δ, 1 - e^-ε (1 - δ - α))``. All (ε, δ) that the accountants prove hold
at once, and Gaussian noise alone has a curve of its own, which is attained: ``Φ(Φ⁻¹(α) + μ)``. Results are rounded up.

Source: Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022, Proposition 2.12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from pcevolve.dp.accountants import above, epsilon, merged
from pcevolve.dp.curves import ROUNDING_SHARE
from pcevolve.privacy import Event

_DELTAS = (0.0, *(10.0 ** (-exponent / 4) for exponent in range(1, 61)))
"""At which the accountants are asked, from 0.56 down to 1e-15: each proves a bound, and the least of them holds."""


def most_true_positives(events: Iterable[Event], false_positives: float) -> float:
    """The largest share of true positives of any test between neighbouring datasets.

    Args:
        events: All that was done to the private data; the neighbour relation is the one of their parameters.
        false_positives: α, the share of cases in which the test may wrongly say yes, in (0, 1).

    Returns:
        In [α, 1]; α itself is what guessing attains.

    Raises:
        ValueError: α is not in (0, 1).
    """
    if not 0 < false_positives < 1:
        raise ValueError(f"false positives must be a share between 0 and 1, not {false_positives}")
    spent = merged(events)
    if not spent:
        return false_positives
    bounds = [_bound(epsilon(spent, delta), delta, false_positives) for delta in _DELTAS]
    return min(*bounds, _gaussian(spent, false_positives), 1.0)


def _bound(loss: float, delta: float, alpha: float) -> float:
    """What one (ε, δ) allows."""
    if not math.isfinite(loss):
        return 1.0
    few = math.exp(min(loss, 700.0)) * alpha + delta
    many = 1.0 - math.exp(-loss) * max(1.0 - delta - alpha, 0.0)
    return min(few, many) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _gaussian(spent: tuple[Event, ...], alpha: float) -> float:
    """The exact curve of Gaussian noise alone; 1 where anything else was done, or the noise has no width."""
    if any(event.mechanism != "gaussian" or event.value == 0 for event in spent):
        return 1.0
    from scipy.special import ndtr, ndtri  # slow to load, and not needed to refuse a command

    total = sum((event.count / event.value**2 for event in spent), Fraction(0))
    mu = math.sqrt(above(total)) * (1 + ROUNDING_SHARE)
    return float(ndtr(ndtri(alpha) + mu)) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE
