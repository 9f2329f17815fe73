"""Divide a budget into events: each round's accesses of a method to the private data, and what they are worth.

A calibration gives the events of rounds 1..T; a round is one access for all classes together. All of them fit
the budget, which ``dp.accountants.within`` confirms piece by piece. Published calibrations may not fit; their
actual sum is reported.

A lift says how much better than chance a choice is: the probability that a chosen prototype is of the best
tenth, under a utility that no real one beats. Each family of methods has its own ideal: all nominal shots
agree on the best tenth of the candidates, and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from pcevolve.errors import UsageError
from pcevolve.public.dp.calibration import (
    bounded_sum_sensitivity,
    classical_deviation,
    histogram_sensitivity,
    largest_bounded_range,
    round_nearest,
    round_up,
    smallest_noise_multiplier,
)
from pcevolve.public.privacy import FREE, Budget, Event, Relation


@dataclass(frozen=True)
class Scope:
    """The public sizes of a run on which prices depend.

    Attributes:
        classes: Number of classes, C.
        shots: Nominal private units per class, K.
        candidates: Candidates per class, N.
        noise_factor: As in ``SelectionInput``.
    """

    relation: Relation
    iterations: int
    classes: int
    shots: int
    candidates: int
    noise_factor: float = 1.0


Rounds: TypeAlias = tuple[tuple[Event, ...], ...]
"""Events of each round 1..T; a round is one transaction for all classes."""
Calibration: TypeAlias = Callable[[Budget, Scope], Rounds]
"""Returns the events of each round that a budget pays for; no rounds, no events."""


CENTRE_SHARE = 0.2
"""The centre's share of the means' budget, as 1/z²: it is pooled over all classes, so a small share is enough."""
COUNT_SHARE = 0.1
"""The class counts' share of the first round's budget, as 1/z²: one number per class needs less than the votes."""
APPEARANCE_SHARE = 0.2
"""The appearance's share of a Gaussian run's budget, as 1/z²: it is pooled over all classes, so little is enough."""
BLURRED_APPEARANCE = 0.2
"""Noise on an appearance's numbers above which it is not worth its price; dark and light differ by 1."""


def divide(event: Event, share: float) -> tuple[Event, ...]:
    """Split a Gaussian access into two, the first with a share of its budget as 1/z²; a free one stays as it is.

    With noise multipliers ``z / sqrt(s)`` and ``z / sqrt(1 - s)`` the sum of ``1/z²`` is unchanged. The cost
    of adaptively composed Gaussian accesses depends on that sum alone, under μ-GDP and zCDP alike.
    """
    if event.free:
        return (event,)
    return tuple(
        # Rounded up: each part is a little noisier than its share pays for, never less.
        replace(event, parameter=str(round_up(float(event.value * Fraction(1 / math.sqrt(part))))))
        for part in (share, 1 - share)
    )


def pay_for_centre(rounds: Rounds) -> Rounds:
    """Split every Gaussian access into the centre's and the deviations', for the price of the one."""
    return tuple(tuple(part for event in events for part in divide(event, CENTRE_SHARE)) for events in rounds)


def pay_for_class_counts(rounds: Rounds) -> Rounds:
    """Split the first round's access into the class counts' and the votes', for the price of the one.

    Source: Lin et al. 2024, Algorithm 3, which first estimates the counts of unbalanced data, there by the
    Laplace mechanism. Gaussian noise composes with that of the votes.
    """
    return tuple(
        tuple(part for event in events for part in (divide(event, COUNT_SHARE) if not place else (event,)))
        for place, events in enumerate(rounds)
    )


def is_blurred(first: Event, scope: Scope) -> bool:
    """True if the noise on the six numbers of an appearance is too large to be worth its price.

    Args:
        first: The Gaussian access that releases the sum of all units' numbers, of L2 norm at most 1 each.
    """
    sensitivity = bounded_sum_sensitivity(scope.relation)
    return (
        scope.noise_factor * float(first.value) * sensitivity / (scope.shots * scope.classes)
        > BLURRED_APPEARANCE
    )


def pay_for_appearance(rounds: Rounds) -> Rounds:
    """Prepend a Gaussian access, iteration 0, and make the rounds noisier, so that all together cost the same.

    As in ``divide``, ``APPEARANCE_SHARE`` of the sum of ``1/z²`` goes to the new access.

    Raises:
        UsageError: A round makes another kind of access.
    """
    paid = [event for events in rounds for event in events if not event.free]
    # Only Gaussian accesses trade noise by 1/z²: with other draws among them the total cost would change.
    if not paid or any(event.mechanism != "gaussian" for event in paid):
        raise UsageError(
            "method.appearance=matched needs a method with Gaussian noise alone: choose dp-means or pe, or as-is"
        )
    precision = sum(event.count / event.value**2 for event in paid)
    # The new access gets its share of the precision, and the others keep the rest: 1/z² adds up as before.
    first = Event("gaussian", str(round_up(1 / math.sqrt(APPEARANCE_SHARE * precision))))
    factor = Fraction(1 / math.sqrt(1 - APPEARANCE_SHARE))
    return ((first,), *(tuple(_quieter(event, factor) for event in events) for events in rounds))


def _quieter(event: Event, factor: Fraction) -> Event:
    """Return the event with ``factor`` times its noise; unchanged if it is free."""
    return event if event.free else replace(event, parameter=str(round_up(float(event.value * factor))))


def free_draws(budget: Budget, scope: Scope) -> Rounds:
    """Return uniform draws, which look at no private data and cost nothing."""
    return ((Event("uniform"),),) * scope.iterations


def exponential_per_class(budget: Budget, scope: Scope) -> Rounds:
    """Return one exponential draw per class and round, each on all classes' data, with exact pure ε / (T C) each.

    Source: PCEvolve, Algorithm 1, line 1.
    """
    if scope.iterations == 0:
        return ()
    # Fractions: the draws' costs add up to ε exactly, without rounding.
    each = budget.epsilon / (scope.iterations * scope.classes)
    return ((Event("exponential", str(each), scope.classes),),) * scope.iterations


def exponential_draws(draws: int) -> Calibration:
    """Return a calibration of ``draws`` accesses per round, each for all classes, with the largest bounded range."""

    def rounds(budget: Budget, scope: Scope) -> Rounds:
        if scope.iterations == 0:
            return ()
        # Over all draws of the run: one round's range would fit a budget that the other rounds spend again.
        largest = largest_bounded_range(budget, draws * scope.iterations)
        return ((Event("exponential", str(largest), draws),),) * scope.iterations

    return rounds


def gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """Return one Gaussian access per round for all classes, with the smallest multiplier that fits.

    Raises:
        UsageError: δ is 0.
    """
    if scope.iterations == 0:
        return ()
    _require_delta(budget)
    return (
        (Event("gaussian", str(smallest_noise_multiplier(budget, scope.iterations))),),
    ) * scope.iterations


def gaussian_once(budget: Budget, scope: Scope) -> Rounds:
    """Return a Gaussian access in the first round only; later rounds are post-processing (``UsageError`` at δ = 0)."""
    # The whole budget in one access: later rounds choose from what it released, and pay nothing.
    first = gaussian_per_round(budget, replace(scope, iterations=min(scope.iterations, 1)))
    return (*first, *(((FREE,),) * (scope.iterations - 1)))


def published_gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """Return Private Evolution's common loose split: ``σ = sqrt(2 ln(1.25/δ)) / (ε/T)`` at a sensitivity of 1.

    The multiplier is σ over the true sensitivity, so the accountants give the actual loss of this noise.

    Raises:
        UsageError: δ is 0.

    Source: PCEvolve, Definition 3.2, for the step.
    """
    if scope.iterations == 0:
        return ()
    _require_delta(budget)
    # Over the true sensitivity: the published sigma assumes 1, and under replace-one votes move by the square
    # root of 2.
    multiplier = classical_deviation(budget, scope.iterations) / histogram_sensitivity(scope.relation)
    # To the nearest, not up: it reproduces a published number, and whether it fits the budget is checked
    # elsewhere.
    return ((Event("gaussian", str(round_nearest(Fraction(multiplier)))),),) * scope.iterations


def _require_delta(budget: Budget) -> None:
    if budget.delta == 0:
        raise UsageError("a method with Gaussian noise needs --delta, for example --delta 1e-5")


def best_tenth(candidates: int) -> int:
    """Return the number of candidates in the best tenth: at least one."""
    # Rounded up, so that a small pool still has a best candidate.
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of a uniform draw: the best tenth's share of the candidates, 0.1 if ten divides their number."""
    # Not simply 0.1: of fifteen candidates two are the best tenth, and a lift is compared with this number.
    return best_tenth(scope.candidates) / scope.candidates


def drawn_lift(advantage: float, favoured: int, scope: Scope) -> float:
    """Return the probability of the best tenth if ``favoured`` have odds ``e^advantage`` and the others 1."""
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)
