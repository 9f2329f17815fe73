"""How much noise an access needs: the sensitivity of its query, and the dearest parameter that a budget allows.

A sensitivity is of one kind of query under both neighbour relations. A query over disjoint groups of units (a histogram
for each class) counts as one vector, because a unit that leaves one group can enter another.

The accountants decide what fits a budget. So a calibrated parameter fits its budget exactly as the ledger will count
it, and the one beyond it, in the last of ``DIGITS`` digits, does not. Parameters account for the neighbour relation
already: whoever makes the access divides by its own sensitivity. A search is made once in a process.

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
    """L2 sensitivity of a sum of non-negative vectors of L2 norm at most 1, one from each privacy unit.

    Replacing a unit subtracts one such vector and adds another. Both are non-negative, so their difference is at most
    the square root of 2 long.
    """
    return 1.0 if relation == "add-remove" else math.sqrt(2)


def bounded_sum_sensitivity(relation: Relation) -> float:
    """L2 sensitivity, in clip radii, of a sum of vectors in a ball, one from each privacy unit.

    Replacing a unit can move its vector from one end of the ball to the other: two radii.
    """
    return 1.0 if relation == "add-remove" else 2.0


DEVIATION_RADIUS = 0.5
"""Clip radius of deviations from a released centre, in clip radii of the points that the centre was released of."""


def deviation_sum_sensitivity(relation: Relation) -> float:
    """L2 sensitivity, in clip radii R of points, of sums by class of deviations from a released centre.

    Deviations lie in a ball of ``DEVIATION_RADIUS`` R, and a unit adds vectors of at most that norm to all classes
    together. So ``bounded_sum_sensitivity`` holds with that radius: R/2 under ``add-remove``, R under
    ``replace-one``, which a unit attains that goes from one end of the ball to the other within its class. A unit
    that changes its label moves two classes' sums by at most R/2 each, R/sqrt(2) in all, which is less.
    """
    return DEVIATION_RADIUS * bounded_sum_sensitivity(relation)


DRAWN_UNITS = 2
"""How many units of a subsample change, under either relation, where one changes of the folder that it is drawn from.

Under ``add-remove`` a unit that was drawn makes room for the next one of its class: one less and one more. Under
``replace-one`` that happens in two classes, where the unit changes its class: two are exchanged. The proof is in
``private.subsample``, whose draw is made for it.
"""


def scale_to_folder(events: Iterable[Event], subsampled: bool) -> tuple[Event, ...]:
    """Return events as one unit of the folder bears them; the same events where all of its units are used."""
    return tuple(event.on_group(DRAWN_UNITS if subsampled else 1) for event in events)


def draw_rate(event: Event, relation: Relation) -> Fraction:
    """Nats per unit of score at which a draw has the event's bounded range b, where a unit adds at most 1 in all.

    Under ``add-remove`` scores are monotone and range over the unit's one vote: b. Under ``replace-one`` a vote can
    leave one candidate and come to another: b / 2.
    """
    # Not ``2 * sensitivity`` for both, as in the usual statement: monotone scores are worth a factor of 2.
    return event.value if relation == "add-remove" else event.value / 2


DIGITS = 10
"""Significant digits of a calibrated parameter; receipts stay readable, and a billionth of the budget is left over."""


@cache
def largest_bounded_range(budget: Budget, accesses: int) -> Fraction:
    """The largest bounded range, in nats, of which ``accesses`` draws fit a budget.

    Args:
        budget: What all of them may cost together.
        accesses: How many there are, each possibly chosen after seeing the one before; at least 1.
    """

    def fits(bounded_range: Fraction) -> bool:
        return within([Event("exponential", str(bounded_range), accesses)], budget)

    # ε/accesses always fits, by pure composition: the search starts where it may and goes up.
    return _farthest(fits, budget.epsilon / accesses, Fraction(2))


@cache
def smallest_noise_multiplier(budget: Budget, accesses: int) -> Fraction:
    """The smallest noise multiplier at which ``accesses`` Gaussian accesses fit a budget.

    The zCDP formula gives one that is large enough: ``z = sqrt(accesses / (2 ρ))`` with
    ``sqrt(ρ) = sqrt(L + ε) - sqrt(L)``, L = ln(1/δ). The search goes down from there.

    Args:
        budget: What all of them may cost together; its δ is above 0.
        accesses: How many there are, each possibly chosen after seeing the one before; at least 1.

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

    It is a theorem only where ε/steps < 1; the accountants tell what such noise is really worth.

    Raises:
        ValueError: δ is 0.

    Source: Dwork & Roth 2014, Theorem A.1; PCEvolve, Definition 3.2.
    """
    return math.sqrt(2 * math.log(1.25 / _positive_delta(budget))) * steps / float(budget.epsilon)


def round_up(value: float) -> Fraction:
    """A little more than ``value``, in ``DIGITS`` digits, so that rounding a noise multiplier costs no privacy."""
    return round_nearest(Fraction(value * (1 + 10.0 ** (1 - DIGITS))))


def round_nearest(value: Fraction) -> Fraction:
    """The nearest number of ``DIGITS`` digits."""
    # Only the last digit kept in a receipt may be lost here, so rounding to
    # nearest is repaired by ``round_up`` or by asking ``fits``.
    return Fraction(f"{float(value):.{DIGITS}e}")


def _positive_delta(budget: Budget) -> float:
    if budget.delta == 0:
        raise ValueError("Gaussian noise has no finite epsilon at delta 0")
    return budget.delta


def _farthest(fits: Callable[[Fraction], bool], start: Fraction, factor: Fraction) -> Fraction:
    """The value farthest from ``start``, upwards or downwards as ``factor`` says, that still fits.

    Args:
        fits: True of ``start``; once it is false on the way, it stays so.
        factor: Of one step; above 1 to go up, below 1 to go down.

    Returns:
        A value that ``fits`` was asked about and that fits.
    """
    good, bad = start, start * factor
    while fits(bad):
        good, bad = bad, bad * factor
    while abs(bad - good) > good / 10 ** (DIGITS - 1):
        # The middle is rounded before it is asked about: what is returned is
        # exactly what the ledger will be asked to charge.
        middle = round_nearest((good + bad) / 2)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
