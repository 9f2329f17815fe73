"""Parse and print the numbers of a guarantee.

A number that the user writes is parsed exactly. A printed bound is rounded up, so that it is never below the
true value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from pcevolve.errors import UsageError
from pcevolve.public.config.options import advise, spell_flag

LARGEST = 10**9
"""Upper limit for an ε or a noise multiplier that a user can request; its inverse is the lower limit."""
USUAL_DELTA = 1e-5
"""Default δ of methods that need one or benefit from one."""
ROUNDING_SHARE = 1e-12
"""Relative float64 rounding error of an ε. It is ignored, so that an ε of 10 is not rounded up to 10.0001."""


def format_upwards(value: float, digits: int = 6) -> str:
    """Return a number rounded up to ``digits`` significant digits."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{rounded.normalize():f}"


def in_full(value: float) -> str:
    """Return a δ or a prior with all its digits, because rounding it in either direction would change the promise."""
    return repr(float(value)).removesuffix(".0")


def format_loss(epsilon: float, digits: int = 6) -> str:
    """Return an ε in few digits, rounded up, or words if it is infinite."""
    return (
        format_upwards(epsilon * (1 - ROUNDING_SHARE), digits)
        if math.isfinite(epsilon)
        else "no finite number"
    )


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON; None for an infinite loss, which JSON cannot represent."""
    return value if math.isfinite(value) else None


def format_factor(epsilon: float) -> str:
    """Return the factor e^ε by which one privacy unit may change a probability, in few digits, rounded up."""
    if epsilon > 20:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    value = math.exp(epsilon * (1 - ROUNDING_SHARE))
    return format_upwards(value, 3) if value < 1000 else f"{math.ceil(value):,}"


def format_chance(most: float) -> str:
    """Return the largest probability of an event with two digits, rounded up."""
    return format_upwards(most * (1 - ROUNDING_SHARE), 2)


def describe_guesses(success: Mapping[float, float]) -> str:
    """Describe the largest probability of guessing a secret for each prior probability."""
    curve = ", ".join(
        f"{format_chance(after)} where it was {_power(before)}" for before, after in success.items()
    )
    return f"guessed with a probability of at most {curve}"


def parse_epsilon(text: str | float, name: str = "epsilon", path: str = "") -> Fraction:
    """Parse ε as the exact number that the user wrote (``UsageError`` if it makes no sense as a guarantee).

    Args:
        path: Key of the option, if the option has no flag.
    """
    return _exact(path or spell_flag(name), text, advise(name, 10, path))


def parse_cap(text: str) -> Fraction:
    """Parse a ledger's cap exactly; raises the errors of ``parse_epsilon``."""
    return _exact("EPSILON", text, "pcevolve budget cap 20")


def parse_noise_multiplier(text: str | float) -> Fraction:
    """Parse a noise multiplier (standard deviation over L2 sensitivity) exactly (``UsageError`` outside the limits)."""
    return _exact(spell_flag("noise_multiplier"), text, advise("noise_multiplier", 2))


def parse_delta(value: float) -> float:
    """Check δ (``UsageError`` outside [0, 1)); 0 is pure differential privacy."""
    if not 0 <= value < 1:
        raise UsageError(f"delta must be at least 0 and below 1, not {value:g}: try {advise('delta', 1e-5)}")
    return value


def spell_size(count: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def spell_count(count: int, word: str) -> str:
    """Return a number with its noun, such as ``2 images``."""
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{count:,} {word if count == 1 else plural}"


def _exact(option: str, text: str | float, advice: str) -> Fraction:
    # The pattern bounds length and exponent, because the fraction of 1e999999999 would take forever to compute.
    known = re.fullmatch(r"[0-9.]{1,60}(e[+-]?[0-9]{1,3}|/[0-9]{1,60})?", str(text).strip().lower(), re.ASCII)
    try:
        number = Fraction(known.string) if known else Fraction(0)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if number <= 0:
        raise UsageError(f"{option} must be a finite number above 0, not {text}: try {advice}")
    if not Fraction(1, LARGEST) <= number <= LARGEST:
        raise UsageError(f"{option} must lie between 1e-9 and 1e9, not at {text}: try {advice}")
    return number


def _power(prior: float) -> str:
    """Write 1e-4 instead of 0.0001."""
    return f"{prior:.0e}".replace("e-0", "e-")
