"""How a budget is divided: the events of every round, as dear as the budget allows.

A spending function gives the events of rounds 1..T; a round is one access for all classes together. Their parameters
account for the neighbour relation already: the selector divides by its own sensitivity. All of them fit the budget,
which ``accountants.within`` confirms piece by piece; the published calibrations are told as what they really add.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from pcevolve.dp.accountants import within
from pcevolve.errors import UsageError
from pcevolve.privacy import FREE, Budget, Event, Relation

Rounds = tuple[tuple[Event, ...], ...]

LARGEST = 10**9
"""Most that a user can ask for as ε or noise, and one over the least."""
DIGITS = 10
"""Significant digits of a calibrated parameter; receipts stay readable, and a billionth of the budget is left over."""


APPEARANCE_SHARE = 0.2
"""Of a Gaussian run's budget, as 1/z²: appearance is pooled over all classes, so a small share tells enough."""


BLURRED_APPEARANCE = 0.2
"""Noise on an appearance's numbers beyond which it is not worth its price: between dark and light lies 1."""


@dataclass(frozen=True)
class Scope:
    """The public sizes of a run on which prices depend.

    Attributes:
        relation: Neighbour relation.
        iterations: Rounds of evolution, T.
        classes: Number of classes, C.
        shots: Nominal private units per class, K.
        candidates: Candidates per class, N.
    """

    relation: Relation
    iterations: int
    classes: int
    shots: int
    candidates: int


def parse_epsilon(text: str | float) -> Fraction:
    """Read ε as the exact decimal or fraction the user wrote.

    Raises:
        UsageError: Not a finite number above zero, or beyond what makes sense as a guarantee.
    """
    return _exact("epsilon", text, "10")


def parse_noise_multiplier(text: str | float) -> Fraction:
    """Read a noise multiplier, the same way.

    Raises:
        UsageError: Not a finite number above zero, or beyond what makes sense as noise.
    """
    return _exact("noise-multiplier", text, "2")


def parse_delta(value: float) -> float:
    """Check δ; 0 is pure differential privacy.

    Raises:
        UsageError: Not a number in [0, 1).
    """
    if not 0 <= value < 1:
        raise UsageError(f"delta must be at least 0 and below 1, not {value:g}: try --delta 1e-5")
    return value


def vote_sensitivity(relation: Relation) -> float:
    """Most that a privacy unit moves the votes of all classes together, in L2 norm (Private Evolution)."""
    return 1.0 if relation == "add-remove" else math.sqrt(2)


def mean_sensitivity(relation: Relation) -> float:
    """Most that a privacy unit moves the sums of all classes together, in L2 norm and clip radii R (class means)."""
    return 1.0 if relation == "add-remove" else 2.0


def utility_sensitivity(candidates: int) -> float:
    """Most that a privacy unit moves a vector of utilities in [0, 1], in L2 norm, under either relation."""
    return math.sqrt(candidates)


def votes_per_draw(event: Event, relation: Relation) -> float:
    """Nats η that one unit's vote in [0, 1] is worth in a draw: its bounded range is η or 2 η, by the relation."""
    return float(event.value if relation == "add-remove" else event.value / 2)


def nothing(budget: Budget, scope: Scope) -> Rounds:
    """Uniform draws, which cost nothing."""
    return ((Event("uniform"),),) * scope.iterations


def exponential_per_class(budget: Budget, scope: Scope) -> Rounds:
    """A draw per class and round that looks at all classes: ``ε / (T C)`` each, pure and exact.

    Source: PCEvolve, Algorithm 1, line 1.
    """
    if scope.iterations == 0:
        return ()
    each = budget.epsilon / (scope.iterations * scope.classes)
    return ((Event("exponential", str(each), scope.classes),),) * scope.iterations


def permute_and_flip_per_class(budget: Budget, scope: Scope) -> Rounds:
    """The same price for a mechanism that is never worse than the exponential one at equal pure ε.

    Source: McKenna & Sheldon 2020, section 3.
    """
    rounds = exponential_per_class(budget, scope)
    return tuple(tuple(replace(each, mechanism="permute-and-flip") for each in events) for events in rounds)


def exponential_per_round(budget: Budget, scope: Scope) -> Rounds:
    """One access of bounded range b per round, for all classes in parallel: the largest b that fits."""
    return exponential_draws(1)(budget, scope)


def exponential_draws(draws: int) -> Callable[[Budget, Scope], Rounds]:
    """The same with ``draws`` accesses per round, each of the largest bounded range that fits."""

    def spending(budget: Budget, scope: Scope) -> Rounds:
        if scope.iterations == 0:
            return ()
        total = draws * scope.iterations

        def fits(bounded_range: Fraction) -> bool:
            return within([Event("exponential", str(bounded_range), total)], budget)

        largest = _farthest(fits, budget.epsilon / total, Fraction(2))
        return ((Event("exponential", str(largest), draws),),) * scope.iterations

    return spending


def gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """Gaussian noise once per round for all classes in parallel: the smallest multiplier that fits.

    Raises:
        UsageError: δ is 0.
    """
    return _gaussian(budget, scope, count=1)


def gaussian_per_class(budget: Budget, scope: Scope) -> Rounds:
    """Gaussian noise per class and round, every query on all data: the smallest multiplier that fits.

    Raises:
        UsageError: δ is 0.
    """
    return _gaussian(budget, scope, count=scope.classes)


def gaussian_once(budget: Budget, scope: Scope) -> Rounds:
    """Gaussian noise in the first round only; all later rounds are post-processing of it.

    Raises:
        UsageError: δ is 0.
    """
    if scope.iterations == 0:
        return ()
    event = Event("gaussian", str(_smallest_multiplier(budget, 1)))
    return ((event,), *(((FREE,),) * (scope.iterations - 1)))


def appearance_deviation(first: Event, scope: Scope) -> float:
    """Noise on each of the six numbers in [0, 1] that an appearance is, before it is drawn to the public guess."""
    return float(first.value) * mean_sensitivity(scope.relation) / (scope.shots * scope.classes)


def is_blurred(first: Event, scope: Scope) -> bool:
    """Whether so much noise lies on an appearance that it is not worth its price."""
    return appearance_deviation(first, scope) > BLURRED_APPEARANCE


def with_appearance(rounds: Rounds) -> Rounds:
    """The same rounds with one more Gaussian access before them, for the price of the rounds alone.

    The sum of ``1/z²`` stays what it was, which is all that the cost of adaptively composed Gaussian accesses depends
    on: ``APPEARANCE_SHARE`` of it goes to the new access.

    Raises:
        UsageError: A round makes another kind of access.
    """
    paid = [event for events in rounds for event in events if not event.free]
    if not paid or any(event.mechanism != "gaussian" for event in paid):
        raise UsageError(
            "--appearance matched needs a method with Gaussian noise alone: choose dp-means or pe, or as-is"
        )
    precision = sum(event.count / event.value**2 for event in paid)
    first = Event("gaussian", str(_raised(1 / math.sqrt(APPEARANCE_SHARE * precision))))
    dearer = Fraction(1 / math.sqrt(1 - APPEARANCE_SHARE))
    return ((first,), *(tuple(_quieter(event, dearer) for event in events) for events in rounds))


def _quieter(event: Event, factor: Fraction) -> Event:
    return event if event.free else replace(event, parameter=str(_raised(float(event.value * factor))))


def _raised(value: float) -> Fraction:
    """A little more than ``value``, with few digits, so that rounding costs no privacy."""
    return _short(Fraction(value * (1 + 10.0 ** (1 - DIGITS))))


def published_gaussian_per_round(budget: Budget, scope: Scope) -> Rounds:
    """The loose split of Private Evolution's users: ``σ = sqrt(2 ln(1.25/δ)) / (ε/T)`` with a sensitivity of 1.

    The multiplier is σ over the true sensitivity, so the accountants tell what this noise is really worth.

    Raises:
        UsageError: δ is 0.

    Source: PCEvolve, Definition 3.2, for the step.
    """
    if scope.iterations == 0:
        return ()
    sigma = _classical(budget, scope.iterations)
    return _noise(sigma / vote_sensitivity(scope.relation), 1, scope.iterations)


def published_gaussian_per_class(budget: Budget, scope: Scope) -> Rounds:
    """PCEvolve-GM's: the same formula for each of T·C queries, with a sensitivity of K·N where √N is enough.

    Raises:
        UsageError: δ is 0.

    Source: PCEvolve, section 5.2.
    """
    if scope.iterations == 0:
        return ()
    sigma = scope.shots * scope.candidates * _classical(budget, scope.iterations * scope.classes)
    return _noise(sigma / utility_sensitivity(scope.candidates), scope.classes, scope.iterations)


def _exact(name: str, text: str | float, example: str) -> Fraction:
    # The pattern bounds the length and the exponent: a fraction of 1e999999999 would take for ever to write out.
    known = re.fullmatch(r"[0-9.]{1,60}(e[+-]?[0-9]{1,3}|/[0-9]{1,60})?", str(text).strip().lower(), re.ASCII)
    try:
        number = Fraction(known.string) if known else Fraction(0)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if number <= 0:
        raise UsageError(f"{name} must be a finite number above 0, not {text}: try --{name} {example}")
    if not Fraction(1, LARGEST) <= number <= LARGEST:
        raise UsageError(f"{name} must lie between 1e-9 and 1e9, not at {text}: try --{name} {example}")
    return number


def _gaussian(budget: Budget, scope: Scope, count: int) -> Rounds:
    if scope.iterations == 0:
        return ()
    multiplier = _smallest_multiplier(budget, count * scope.iterations)
    return ((Event("gaussian", str(multiplier), count),),) * scope.iterations


def _noise(multiplier: float, count: int, iterations: int) -> Rounds:
    return ((Event("gaussian", str(_short(Fraction(multiplier))), count),),) * iterations


def _classical(budget: Budget, steps: int) -> float:
    """Standard deviation per unit of sensitivity when ε is split evenly; a theorem only where ε/steps < 1."""
    return math.sqrt(2 * math.log(1.25 / _needed_delta(budget))) * steps / float(budget.epsilon)


def _smallest_multiplier(budget: Budget, total: int) -> Fraction:
    """The smallest noise multiplier at which ``total`` Gaussian events fit.

    The zCDP formula gives one that is large enough: ``z = sqrt(total / (2 ρ))`` with
    ``sqrt(ρ) = sqrt(L + ε) - sqrt(L)``, L = ln(1/δ); from there it goes down.
    """
    root = math.sqrt(-math.log(_needed_delta(budget)))
    epsilon = float(budget.epsilon)
    safe = math.sqrt(total / 2) * (math.sqrt(root**2 + epsilon) + root) / epsilon

    def fits(multiplier: Fraction) -> bool:
        return within([Event("gaussian", str(multiplier), total)], budget)

    return _farthest(fits, _short(Fraction(safe * 1.000001)), Fraction(1, 2))


def _needed_delta(budget: Budget) -> float:
    if budget.delta == 0:
        raise UsageError("a method with Gaussian noise needs --delta, for example --delta 1e-5")
    return budget.delta


def _farthest(fits: Callable[[Fraction], bool], start: Fraction, factor: Fraction) -> Fraction:
    """The value farthest from ``start``, upwards or downwards as ``factor`` says, that still fits.

    ``start`` fits, and what does not fit is followed by nothing that does; the result itself was tried.
    """
    good, bad = start, start * factor
    while fits(bad):
        good, bad = bad, bad * factor
    while abs(bad - good) > good / 10 ** (DIGITS - 1):
        middle = _short((good + bad) / 2)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _short(value: Fraction) -> Fraction:
    return Fraction(f"{float(value):.{DIGITS}e}")
