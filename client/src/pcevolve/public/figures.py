"""Figures of a promise as people read them: rounded, and never to less than they stand for."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

SLACK = 1e-12
"""Share of an ε that is rounding in float64, and no loss of privacy: what is exactly 10 is not loss as 10.0001."""


def upwards(value: float, digits: int = 6) -> str:
    """A number in few digits that are not below it."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{rounded.normalize():f}"


def loss(epsilon: float, digits: int = 6) -> str:
    """An ε for people."""
    return upwards(epsilon * (1 - SLACK), digits) if math.isfinite(epsilon) else "no finite number"


def factor(epsilon: float) -> str:
    """The e^ε by which a probability may change."""
    if epsilon > 20:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    value = math.exp(epsilon * (1 - SLACK))
    return upwards(value, 3) if value < 1000 else f"{math.ceil(value):,}"
