"""Calibrate noise: the sensitivity of a query, and the largest parameter that a budget allows.

Each sensitivity is for one kind of query, under both neighbour relations. A query over disjoint groups of
units (a histogram for each class) counts as one vector, because a unit that leaves one group can enter
another.

The accountants decide what fits a budget. A calibrated parameter therefore fits exactly as the ledger will
charge it, and the next one in the last of ``DIGITS`` digits does not fit. Parameters include the neighbour
relation: the code that draws divides by its own sensitivity. Each search is made once in a process.

>>> float(smallest_noise_multiplier(Budget(Fraction(10), 1e-5), accesses=1))
0.49988861982
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache

from pcevolve.public.dp.accountants import within
from pcevolve.public.privacy import Budget, Event, Relation


def histogram_sensitivity(relation: Relation) -> float:
    """Return the L2 sensitivity of a sum of non-negative vectors of L2 norm at most 1, one for each privacy unit.

    Replacing a unit subtracts one such vector and adds another. Both are non-negative, so the L2 norm of
    their difference is at most sqrt(2).
    """
    return 1.0 if relation == "add-remove" else math.sqrt(2)


def bounded_sum_sensitivity(relation: Relation) -> float:
    """Return the L2 sensitivity, in clip radii, of a sum of vectors in a ball, one for each privacy unit.

    Replacing a unit can move its vector from one end of the ball to the other: two radii.
    """
    return 1.0 if relation == "add-remove" else 2.0


DEVIATION_RADIUS = 0.5
"""Clip radius of deviations from a released centre, as a share of the points' own clip radius."""


def deviation_sum_sensitivity(relation: Relation) -> float:
    """Return the L2 sensitivity, in the points' clip radii R, of class sums of deviations from a released centre.

    Deviations lie in a ball of radius ``DEVIATION_RADIUS`` R, and a unit's vectors in all classes together
    have at most that norm. ``bounded_sum_sensitivity`` therefore holds with that radius: R/2 under
    ``add-remove``, R under ``replace-one``, attained by a unit that moves from one end of the ball to the
    other within its class. A unit that changes its label moves two classes' sums by at most R/2 each,
    R/sqrt(2) in all, which is less.
    """
    return DEVIATION_RADIUS * bounded_sum_sensitivity(relation)


DRAWN_UNITS = 2
"""The number of units of a subsample that change, under either relation, when one unit of the folder changes.

Under ``add-remove`` a drawn unit that leaves makes room for the next one of its class: one less and one more.
Under ``replace-one`` this happens in two classes if the unit changes its class: two are replaced.
``private.subsample``, whose draw is made for this, has the proof.
"""


def scale_to_folder(events: Iterable[Event], subsampled: bool) -> tuple[Event, ...]:
    """Return events as one unit of the folder bears them; unchanged if every unit of the folder is used."""
    return tuple(event.on_group(DRAWN_UNITS if subsampled else 1) for event in events)


def draw_rate(event: Event, relation: Relation) -> Fraction:
    """Return the nats per unit of score at which a draw has the event's bounded range b.

    A unit adds at most 1 to all scores together. Under ``add-remove`` scores are monotone, so the rate is b.
    Under ``replace-one`` a vote can move from one candidate to another, so the rate is b / 2.
    """
    # Not ``2 * sensitivity`` for both, as in the usual statement: monotone scores are worth a factor of 2.
    return event.value if relation == "add-remove" else event.value / 2


DIGITS = 10
"""Significant digits of a calibrated parameter: receipts stay readable, and about 1e-9 of the budget stays unused."""


@cache
def largest_bounded_range(budget: Budget, accesses: int) -> Fraction:
    """Return the largest bounded range, in nats, with which ``accesses`` draws fit a budget.

    Args:
        budget: What all draws may cost together.
        accesses: Number of draws, at least 1; each may be chosen after seeing the one before.
    """

    def fits(bounded_range: Fraction) -> bool:
        return within([Event("exponential", str(bounded_range), accesses)], budget)

    # ε/accesses always fits, by pure composition: the search starts where it may and goes up.
    return _farthest(fits, budget.epsilon / accesses, Fraction(2))


@cache
def smallest_noise_multiplier(budget: Budget, accesses: int) -> Fraction:
    """Return the smallest noise multiplier with which ``accesses`` Gaussian accesses fit a budget.

    The zCDP formula gives one that is large enough: ``z = sqrt(accesses / (2 ρ))`` with ``sqrt(ρ) = sqrt(L +
    ε) - sqrt(L)``, L = ln(1/δ). The search goes down from there.

    Args:
        budget: What all accesses may cost together; δ > 0.
        accesses: Number of accesses, at least 1; each may be chosen after seeing the one before.

    Raises:
        ValueError: δ is 0, at which no Gaussian noise has a finite ε.
    """
    root = math.sqrt(-math.log(_positive_delta(budget)))
    epsilon = float(budget.epsilon)
    safe = math.sqrt(accesses / 2) * (math.sqrt(root**2 + epsilon) + root) / epsilon

    def fits(multiplier: Fraction) -> bool:
        return within([Event("gaussian", str(multiplier), accesses)], budget)

    # A millionth more than the formula, because it and the start are rounded to nearest.
    return _farthest(fits, round_nearest(Fraction(safe * 1.000001)), Fraction(1, 2))


def classical_deviation(budget: Budget, steps: int) -> float:
    """``sqrt(2 ln(1.25/δ)) / (ε/steps)``: noise per unit of L2 sensitivity when ε is split evenly over steps.

    This is a theorem only for ε/steps < 1; the accountants give the actual loss of such noise.

    Raises:
        ValueError: δ is 0.

    Source: Dwork & Roth 2014, Theorem A.1; PCEvolve, Definition 3.2.
    """
    # Printed as published; what such noise really costs is for the accountants, which the theorem's condition
    # does not bind.
    return math.sqrt(2 * math.log(1.25 / _positive_delta(budget))) * steps / float(budget.epsilon)


def round_up(value: float) -> Fraction:
    """Round to ``DIGITS`` digits, to slightly more than ``value``: rounding a noise multiplier costs no privacy."""
    return round_nearest(Fraction(value * (1 + 10.0 ** (1 - DIGITS))))


def round_nearest(value: Fraction) -> Fraction:
    """Round to the nearest number of ``DIGITS`` digits."""
    # Only the last digit kept in a receipt may be lost here, so rounding to
    # nearest is repaired by ``round_up`` or by asking ``fits``.
    return Fraction(f"{float(value):.{DIGITS}e}")


def _positive_delta(budget: Budget) -> float:
    if budget.delta == 0:
        raise ValueError("Gaussian noise has no finite epsilon at delta 0")
    return budget.delta


def _farthest(fits: Callable[[Fraction], bool], start: Fraction, factor: Fraction) -> Fraction:
    """Return the value farthest from ``start`` that still fits.

    Args:
        fits: A predicate that holds at ``start``; once it fails along the way, it fails from there on.
        factor: The factor of one step: above 1 to search upwards, below 1 to search downwards.

    Returns:
        A value for which ``fits`` was called and returned True.
    """
    good, bad = start, start * factor
    # In growing steps first: how far the best value lies from the start depends on delta, and is not known.
    while fits(bad):
        good, bad = bad, bad * factor
    while abs(bad - good) > good / 10 ** (DIGITS - 1):
        # The middle is rounded before it is asked about: what is returned is
        # exactly what the ledger will be asked to charge.
        middle = round_nearest((good + bad) / 2)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
