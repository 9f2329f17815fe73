"""Divide a budget into events, and estimate how well a method can choose with them.

An event is an access of the method to the private data.

A calibration gives the events of rounds 1..T. A round is one access for all classes together. All rounds together
fit the budget, as ``dp.accountants.within`` confirms. Published calibrations may exceed the budget, and their actual
sum is reported.

A lift is the probability that a chosen prototype belongs to the best tenth of the candidates. A blind choice has a
lift of about 0.1. A lift is computed for an ideal utility, so it is an upper limit for any real utility. In the ideal
utility, all shots (as many as planned) favour the same best tenth of the candidates and no other candidate. What this
means for the scores differs between families of methods.
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
        iterations: Number of rounds, T.
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
"""The events of each round 1..T. A round is one transaction for all classes."""
Calibration: TypeAlias = Callable[[Budget, Scope], Rounds]
"""Returns, for each round, the events that a budget pays for. Without rounds there are no events."""


CENTRE_SHARE = 0.2
"""Share of the budget of class means that pays for the centre, in 1/z² (z is the noise multiplier).

A mean over all classes needs only a small share.
"""
COUNT_SHARE = 0.1
"""Share of the first round's budget that pays for the class counts, in 1/z².

One number per class needs a smaller share than the votes.
"""
APPEARANCE_SHARE = 0.2
"""Share of a Gaussian run's budget that pays for the appearance, in 1/z². A mean over all classes needs little."""
BLURRED_APPEARANCE = 0.2
"""Noise on each number of an appearance (standard deviation) above which an appearance is not worth its price.

On this scale, dark and light differ by 1.
"""


def divide(event: Event, share: float) -> tuple[Event, ...]:
    """Split a Gaussian access into two. The first gets ``share`` of the budget, in 1/z². A free access is not split.

    With noise multipliers ``z / sqrt(s)`` and ``z / sqrt(1 - s)`` the sum of ``1/z²`` is unchanged. The cost of
    adaptively composed Gaussian accesses depends only on this sum, under both μ-GDP and zCDP.
    """
    if event.free:
        return (event,)
    return tuple(
        # Rounded up: each part is at least as noisy as its share requires.
        replace(event, parameter=str(round_up(float(event.value * Fraction(1 / math.sqrt(part))))))
        for part in (share, 1 - share)
    )


def pay_for_centre(rounds: Rounds) -> Rounds:
    """Split every Gaussian access into one for the centre and one for the deviations, at the same total price."""
    return tuple(tuple(part for event in events for part in divide(event, CENTRE_SHARE)) for events in rounds)


def pay_for_class_counts(rounds: Rounds) -> Rounds:
    """Split the first round's access into one for class counts and one for votes, at the same total price.

    Source: Lin et al. 2024, Algorithm 3, which first estimates the counts of unbalanced data. That algorithm uses the
    Laplace mechanism. Here the noise is Gaussian, because it then composes with the noise of the votes.
    """
    return tuple(
        tuple(part for event in events for part in (divide(event, COUNT_SHARE) if not place else (event,)))
        for place, events in enumerate(rounds)
    )


def is_blurred(first: Event, scope: Scope) -> bool:
    """Return True if the noise on the six numbers of an appearance is too large to be worth its price.

    Args:
        first: The Gaussian access that releases the sum of all units' numbers, each of L2 norm at most 1.
    """
    sensitivity = bounded_sum_sensitivity(scope.relation)
    return (
        scope.noise_factor * float(first.value) * sensitivity / (scope.shots * scope.classes)
        > BLURRED_APPEARANCE
    )


def pay_for_appearance(rounds: Rounds) -> Rounds:
    """Prepend a Gaussian access, iteration 0, and make the rounds noisier, so that the total cost is unchanged.

    As in ``divide``, ``APPEARANCE_SHARE`` of the sum of ``1/z²`` goes to the new access.

    Raises:
        UsageError: A round makes another kind of access, or no round pays.
    """
    paid = [event for events in rounds for event in events if not event.free]
    # Only Gaussian accesses trade noise by 1/z². With other draws among them the total cost would change.
    if not paid or any(event.mechanism != "gaussian" for event in paid):
        raise UsageError(
            "method.appearance=matched needs a method that adds only Gaussian noise: choose dp-means or "
            "pe, or give as-is"
        )
    precision = sum(event.count / event.value**2 for event in paid)
    # The new access gets its share of the precision, and the others keep the rest, so the sum of 1/z² is unchanged.
    first = Event("gaussian", str(round_up(1 / math.sqrt(APPEARANCE_SHARE * precision))))
    factor = Fraction(1 / math.sqrt(1 - APPEARANCE_SHARE))
    return ((first,), *(tuple(_quieter(event, factor) for event in events) for events in rounds))


def _quieter(event: Event, factor: Fraction) -> Event:
    """Return the event with its noise multiplied by ``factor``, or unchanged if it is free."""
    return event if event.free else replace(event, parameter=str(round_up(float(event.value * factor))))


def free_draws(budget: Budget, scope: Scope) -> Rounds:
    """Return uniform draws, which read no private data and cost nothing."""
    return ((Event("uniform"),),) * scope.iterations


def exponential_per_class(budget: Budget, scope: Scope) -> Rounds:
    """Return one exponential draw per class and round, each at a pure ε of exactly ε / (T C).

    Each draw reads the data of all classes.

    Source: PCEvolve, Algorithm 1, line 1.
    """
    if scope.iterations == 0:
        return ()
    # With fractions, the costs of the draws add up to exactly ε.
    each = budget.epsilon / (scope.iterations * scope.classes)
    return ((Event("exponential", str(each), scope.classes),),) * scope.iterations


def exponential_draws(draws: int) -> Calibration:
    """Return a calibration of ``draws`` accesses per round for all classes, at the largest affordable bounded range."""

    def rounds(budget: Budget, scope: Scope) -> Rounds:
        if scope.iterations == 0:
            return ()
        # The range must cover all draws of the run. A range computed for the draws of one round would let every round
        # spend the budget again.
        largest = largest_bounded_range(budget, draws * scope.iterations)
        return ((Event("exponential", str(largest), draws),),) * scope.iterations

    return rounds


def gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """Return one Gaussian access per round for all classes, with the smallest noise multiplier that fits the budget.

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
    """Return a Gaussian access in the first round only. Later rounds are post-processing (``UsageError`` at δ = 0)."""
    # One access gets the total budget. Later rounds choose from the released numbers and pay nothing.
    first = gaussian_per_round(budget, replace(scope, iterations=min(scope.iterations, 1)))
    return (*first, *(((FREE,),) * (scope.iterations - 1)))


def published_gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """Return Private Evolution's usual loose calibration: ``σ = sqrt(2 ln(1.25/δ)) / (ε/T)`` at a sensitivity of 1.

    The multiplier is σ over the true sensitivity, so the accountants give the actual loss of this noise.

    Raises:
        UsageError: δ is 0.

    Source: PCEvolve, Definition 3.2, for the noise of one round.
    """
    if scope.iterations == 0:
        return ()
    _require_delta(budget)
    # Divided by the true sensitivity: the published sigma assumes 1, but under replace-one votes move by sqrt(2).
    multiplier = classical_deviation(budget, scope.iterations) / histogram_sensitivity(scope.relation)
    # Rounded to nearest, because this reproduces a published number. ``within`` checks later whether it fits the
    # budget.
    return ((Event("gaussian", str(round_nearest(Fraction(multiplier)))),),) * scope.iterations


def _require_delta(budget: Budget) -> None:
    if budget.delta == 0:
        raise UsageError("a method with Gaussian noise needs --delta, for example --delta 1e-5")


def best_tenth(candidates: int) -> int:
    """Return the number of candidates in the best tenth, at least one."""
    # Rounded up, so that a small pool still has a best candidate.
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of a uniform draw: the best tenth's share of the candidates. It is 0.1 for multiples of ten."""
    # Other lifts are compared with this number. With fifteen candidates the best tenth has two, and the lift is 0.13.
    return best_tenth(scope.candidates) / scope.candidates


def drawn_lift(advantage: float, favoured: int, scope: Scope) -> float:
    """Return the probability that a draw is from the best tenth.

    ``favoured`` candidates of the best tenth have the odds ``e^advantage``, and all other candidates have the odds 1.
    """
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)
