"""Calibrate noise: the sensitivity of a query, and the parameter that uses up a budget.

Each sensitivity holds for one kind of query and is given under both neighbour relations. A query over disjoint
groups of units, such as a histogram for each class, counts as one vector, because a unit that leaves one group
can enter another.

The accountants decide what fits a budget. The ledger charges a calibrated parameter by the same rules, so the
parameter fits exactly. The next parameter, one step further in the last of ``DIGITS`` digits, no longer fits.
Parameters already account for the neighbour relation, because the code that draws the noise divides by its own
sensitivity. The result of each search is cached for the life of the process.

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

    Replacing a unit subtracts one such vector and adds another. Both vectors are non-negative, so the L2 norm of
    their difference is at most sqrt(2).
    """
    return 1.0 if relation == "add-remove" else math.sqrt(2)


def bounded_sum_sensitivity(relation: Relation) -> float:
    """Return the L2 sensitivity, in clip radii, of a sum of vectors in a ball, one for each privacy unit.

    Replacing a unit can move its vector from one end of the ball to the other, which is two radii.
    """
    return 1.0 if relation == "add-remove" else 2.0


DEVIATION_RADIUS = 0.5
"""Clip radius of deviations from a released centre, as a share of the points' own clip radius."""


def deviation_sum_sensitivity(relation: Relation) -> float:
    """Return the L2 sensitivity of class sums of deviations from a released centre, in the points' clip radii R.

    Each deviation lies in a ball of radius ``DEVIATION_RADIUS`` R. The vectors of one unit in all classes together
    have at most this norm. ``bounded_sum_sensitivity`` therefore applies with this radius and gives R/2 under
    ``add-remove`` and R under ``replace-one``. The latter is attained by a unit that moves from one end of the ball
    to the other within its class. A unit that changes its label moves the sums of two classes by at most R/2 each,
    which is R/sqrt(2) in total and therefore less.
    """
    return DEVIATION_RADIUS * bounded_sum_sensitivity(relation)


DRAWN_UNITS = 2
"""The number of subsample units that change when one unit of the folder changes, under either relation.

Under ``add-remove``, a removed unit is replaced in the subsample by the next unit of its class: one unit is
removed, and one is added. Under ``replace-one``, this can happen in two classes if the unit changes its class,
so two units are replaced. The proof is in ``private.subsample``, which makes the draw.
"""


def scale_to_folder(events: Iterable[Event], subsampled: bool) -> tuple[Event, ...]:
    """Return events as they affect one unit of the folder. They are unchanged unless the folder was subsampled."""
    return tuple(event.on_group(DRAWN_UNITS if subsampled else 1) for event in events)


def draw_rate(event: Event, relation: Relation) -> Fraction:
    """Return the nats per unit of score at which a draw has the event's bounded range b.

    A unit adds at most 1 to the sum of all scores. Under ``add-remove`` the scores are monotone, so the rate is b.
    Under ``replace-one`` a vote can move from one candidate to another, so the rate is b / 2.
    """
    # The usual statement divides by 2 in both cases. Monotone scores save this factor.
    return event.value if relation == "add-remove" else event.value / 2


DIGITS = 10
"""Significant digits of a calibrated parameter. Receipts stay readable, and about 1e-9 of the budget is left unused."""


@cache
def largest_bounded_range(budget: Budget, accesses: int) -> Fraction:
    """Return the largest bounded range, in nats, at which ``accesses`` draws fit a budget.

    Args:
        budget: The budget of all draws together.
        accesses: The number of draws, at least 1. Each draw may depend on the results of the earlier ones.
    """

    def fits(bounded_range: Fraction) -> bool:
        return within([Event("exponential", str(bounded_range), accesses)], budget)

    # By pure composition ε/accesses always fits, so the search can start there and go up.
    return _farthest(fits, budget.epsilon / accesses, Fraction(2))


@cache
def smallest_noise_multiplier(budget: Budget, accesses: int) -> Fraction:
    """Return the smallest noise multiplier at which ``accesses`` Gaussian accesses fit a budget.

    The zCDP formula gives a multiplier that is large enough: ``z = sqrt(accesses / (2 ρ))`` with
    ``sqrt(ρ) = sqrt(L + ε) - sqrt(L)`` and L = ln(1/δ). The search starts there and goes down.

    Args:
        budget: The budget of all accesses together. Its δ is above 0.
        accesses: The number of accesses, at least 1. Each access may depend on the results of the earlier ones.

    Raises:
        ValueError: δ is 0. Gaussian noise has no finite ε at this δ.
    """
    root = math.sqrt(-math.log(_positive_delta(budget)))
    epsilon = float(budget.epsilon)
    safe = math.sqrt(accesses / 2) * (math.sqrt(root**2 + epsilon) + root) / epsilon

    def fits(multiplier: Fraction) -> bool:
        return within([Event("gaussian", str(multiplier), accesses)], budget)

    # One millionth above the formula, because the formula and the start are rounded to nearest and could fall short.
    return _farthest(fits, round_nearest(Fraction(safe * 1.000001)), Fraction(1, 2))


def classical_deviation(budget: Budget, steps: int) -> float:
    """Return ``sqrt(2 ln(1.25/δ)) / (ε/steps)``: noise per unit of L2 sensitivity if ε is split evenly over steps.

    The formula is a theorem only for ε/steps < 1. The accountants give the actual loss of such noise.

    Raises:
        ValueError: δ is 0.

    Source: Dwork & Roth 2014, Theorem A.1; PCEvolve, Definition 3.2.
    """
    # The formula is used as published, also where the theorem's condition fails. The accountants compute the real loss.
    return math.sqrt(2 * math.log(1.25 / _positive_delta(budget))) * steps / float(budget.epsilon)


def round_up(value: float) -> Fraction:
    """Round up to ``DIGITS`` digits, to slightly more than ``value``. A larger noise multiplier costs no privacy."""
    return round_nearest(Fraction(value * (1 + 10.0 ** (1 - DIGITS))))


def round_nearest(value: Fraction) -> Fraction:
    """Round to the nearest number of ``DIGITS`` digits."""
    # The result may lie on the wrong side of ``value`` in its last digit. ``round_up`` adds a margin before it
    # rounds, and the searches call ``fits`` on the rounded value.
    return Fraction(f"{float(value):.{DIGITS}e}")


def _positive_delta(budget: Budget) -> float:
    if budget.delta == 0:
        raise ValueError("Gaussian noise has no finite epsilon at delta 0")
    return budget.delta


def _farthest(fits: Callable[[Fraction], bool], start: Fraction, factor: Fraction) -> Fraction:
    """Return the value farthest from ``start`` that still fits.

    Args:
        fits: A predicate that is true at ``start``. Once it is false on the way from ``start``, it stays false.
        factor: The factor of one step: above 1 to search upwards, below 1 to search downwards.

    Returns:
        A value for which ``fits`` was called and returned True.
    """
    good, bad = start, start * factor
    # Each step multiplies by ``factor``, because the distance to the best value depends on δ and is not known.
    while fits(bad):
        good, bad = bad, bad * factor
    while abs(bad - good) > good / 10 ** (DIGITS - 1):
        # The midpoint is rounded before ``fits`` is called: the value that was tested is exactly the value that the
        # ledger will charge.
        middle = round_nearest((good + bad) / 2)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
