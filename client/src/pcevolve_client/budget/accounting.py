"""Pure-DP accounting in exact arithmetic (Dwork et al. 2006, sequential composition).

Costs are fractions, so that T·C charges of ε/(T·C) add up to ε and to nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from ..errors import UsageError
from ..release import Receipt


def parse_epsilon(text: str | float) -> Fraction:
    """Read ε as the exact decimal the user wrote.

    Raises:
        UsageError: Not a finite number above zero.
    """
    try:
        epsilon = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(0)
    if epsilon <= 0:
        raise UsageError(f"epsilon must be a finite number above 0, not {text}: try --epsilon 10")
    return epsilon


def per_query(total: Fraction, iterations: int, classes: int) -> Fraction:
    """Cost of one draw when every query sees every record: ``total / (iterations · classes)``.

    Source: PCEvolve, Algorithm 1, line 1.
    """
    return total / (iterations * classes)


def composed(receipts: Iterable[Receipt]) -> Fraction:
    """Total cost of releases on the same data, composed sequentially."""
    return sum((receipt.cost for receipt in receipts), Fraction(0))


def below(epsilon: Fraction) -> float:
    """The largest float that is not above ``epsilon``, so that rounding never costs privacy."""
    value = float(epsilon)
    return value if Fraction(value) <= epsilon else math.nextafter(value, 0.0)


def lift_top10(epsilon: Fraction, candidates: int) -> float:
    """Probability of the best tenth of the candidates under the exponential mechanism, at the very best.

    The best tenth has utility 1 and all others 0, which no real utility beats; a uniform draw gives 0.1.

    Args:
        epsilon: Cost of the draw; 0 for a uniform draw.
        candidates: Number of candidates, at least 1.
    """
    best = math.ceil(candidates / 10)
    odds = best * math.exp(min(below(epsilon) / 2, 700.0))
    return odds / (odds + candidates - best)
