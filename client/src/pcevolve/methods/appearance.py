"""The price of releasing what the private images look like on the whole: one more Gaussian access before the rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from pcevolve.dp.calibration import raised
from pcevolve.dp.sensitivity import bounded_sum_sensitivity
from pcevolve.errors import UsageError
from pcevolve.methods.rounds import Rounds, Scope
from pcevolve.privacy import Event

APPEARANCE_SHARE = 0.2
"""Of a Gaussian run's budget, as 1/z²: appearance is pooled over all classes, so a small share tells enough."""
BLURRED_APPEARANCE = 0.2
"""Noise on an appearance's numbers beyond which it is not worth its price: between dark and light lies 1."""


def appearance_deviation(first: Event, scope: Scope) -> float:
    """Standard deviation of the noise on each of the six numbers in [0, 1] that an appearance is.

    Args:
        first: The Gaussian access that releases the sum of all units' numbers, of L2 norm at most 1 each.
        scope: Public sizes of the run.
    """
    return float(first.value) * bounded_sum_sensitivity(scope.relation) / (scope.shots * scope.classes)


def is_blurred(first: Event, scope: Scope) -> bool:
    """Whether so much noise lies on an appearance that it is not worth its price."""
    return appearance_deviation(first, scope) > BLURRED_APPEARANCE


def with_appearance(rounds: Rounds) -> Rounds:
    """Rounds with one more Gaussian access before them, together for the price of the rounds alone.

    The sum of ``1/z²`` stays what it was, which is all that the cost of adaptively composed Gaussian accesses depends
    on: ``APPEARANCE_SHARE`` of it goes to the new access.

    Returns:
        The new access as iteration 0, then the rounds, each with more noise than before.

    Raises:
        UsageError: A round makes another kind of access.
    """
    paid = [event for events in rounds for event in events if not event.free]
    if not paid or any(event.mechanism != "gaussian" for event in paid):
        raise UsageError(
            "--appearance matched needs a method with Gaussian noise alone: choose dp-means or pe, or as-is"
        )
    precision = sum(event.count / event.value**2 for event in paid)
    first = Event("gaussian", str(raised(1 / math.sqrt(APPEARANCE_SHARE * precision))))
    factor = Fraction(1 / math.sqrt(1 - APPEARANCE_SHARE))
    return ((first,), *(tuple(_quieter(event, factor) for event in events) for events in rounds))


def _quieter(event: Event, factor: Fraction) -> Event:
    """The event with ``factor`` times its noise; one that looks at nothing has none."""
    return event if event.free else replace(event, parameter=str(raised(float(event.value * factor))))
