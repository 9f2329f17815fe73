"""Private Evolution: each image votes for its nearest candidates of its own class (Lin et al. 2024, Algorithm 2).

By default an image votes for the nearest candidate alone. The first candidate in the pool wins a tie. A unit of
several images has one vote in total, which is spread over the votes of its images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

from pcevolve.public.dp.calibration import draw_rate, histogram_sensitivity
from pcevolve.public.dp.curves import normal_cdf
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import IntArray, nearest_of_some
from pcevolve.public.geometry.frame import is_rounded_to, round_to_noise_scale, rounding_step
from pcevolve.public.privacy import Budget, Event, Events
from pcevolve.public.selectors.consistency import are_eligible, has_shape
from pcevolve.public.selectors.method import Method, Schedule, Sensitivity, always
from pcevolve.public.selectors.rounds import (
    Rounds,
    Scope,
    best_tenth,
    drawn_lift,
    exponential_draws,
    gaussian_per_round,
    published_gaussian_per_round,
)
from pcevolve.public.selectors.selection import (
    Measurement,
    PrivateEmbeddings,
    SelectionInput,
    Selector,
    deviation,
    moving_vote,
    require_mechanism,
    single_event,
)

Query: TypeAlias = Callable[[PrivateEmbeddings, SelectionInput], FloatArray]


class ExactPicks(Selector, Protocol):
    """``is_picked`` for selectors whose picks do not depend on rounding, because public randomness decides them."""

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Return True if ``pick`` makes exactly these picks."""
        return all(map(np.array_equal, self.pick(measured, inputs), picked))


def release_counts(
    counts: FloatArray, event: Event, name: str, inputs: SelectionInput, noise: Noise
) -> FloatArray:
    """Release the counts of all classes together, with the Gaussian noise that an event pays for.

    Numbers are rounded to the noise's scale before they are recorded, because digits far below the noise could carry
    hidden messages.
    """
    require_mechanism(event, "gaussian")
    # The histogram of all classes is one vector. A unit that changes its class moves two entries, which explains
    # sqrt(2) under replace-one.
    sigma = deviation(event, histogram_sensitivity(inputs.relation))
    noisy = noise.gaussian(f"{inputs.key}/{name}", counts, sigma)
    return round_to_noise_scale(noisy, sigma * inputs.noise_factor)


def could_be_counts(released: FloatArray, event: Event, inputs: SelectionInput) -> bool:
    """Return True if the numbers are rounded to the scale of the event's noise."""
    sigma = deviation(event, histogram_sensitivity(inputs.relation))
    return is_rounded_to(released, rounding_step(sigma * inputs.noise_factor))


@dataclass(frozen=True)
class Votes(ExactPicks):
    """Gaussian noise on the histogram of all classes together, then resampling (``pe``) or ranking (``aug-pe``).

    A unit's vector of votes is non-negative and has an L2 norm of at most 1. The histogram's L2 sensitivity is
    therefore 1 under ``add-remove`` and sqrt(2) under ``replace-one``, even if a label changes. The numbers of units by
    class have the same sensitivities, because a unit's shares add up to 1. If there are two events, the first pays for
    these numbers.

    Attributes:
        ranked: Whether the candidates with the most votes are picked, each once. The input's ``drawn`` overrides it.
    """

    ranked: bool = False

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Count votes, and also units if there are two events, and add noise.

        Returns:
            ``votes``: float64 ``(candidates of all classes,)``, class after class, rounded to the noise's scale.
            ``counts``: float64 ``(classes,)``, units by class, rounded in the same way. Only present with two events.
        """
        return {
            name: release_counts(query(private, inputs), event, name, inputs, noise)
            for (name, query), event in zip(self._queries(events), events, strict=True)
        }

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Draw parents with replacement by their noisy votes minus H, or rank them.

        If no vote is positive, parents are drawn uniformly.

        Source: Lin et al. 2024, Algorithm 1, lines 6-8 and Algorithm 2, line 7; Xie et al. 2024, Algorithm 1.
        """
        parts = _by_class(measured["votes"], inputs)
        return tuple(self._parents(part, inputs, target) for target, part in enumerate(parts))

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """Return True if each candidate, and each class if class counts were paid for, has a rounded number."""
        sizes = {"counts": len(inputs.labels), "votes": int(_starts(inputs)[-1])}
        paid = {name: event for (name, _), event in zip(self._queries(events), events, strict=True)}
        # One number for each candidate, usable or not, so that the length of the array carries no information.
        return has_shape(measured, {name: (np.float64, (sizes[name],)) for name in paid}) and all(
            could_be_counts(measured[name], event, inputs) for name, event in paid.items()
        )

    def histogram(self, private: PrivateEmbeddings, inputs: SelectionInput) -> FloatArray:
        """Return the votes for every candidate of every class, without noise. They are private.

        Each unit's votes have an L2 norm of at most 1.
        """
        votes = cast_votes(private, inputs)
        return count_votes(votes, private.norm_shares(votes), inputs)

    def _queries(self, events: Events) -> tuple[tuple[str, Query], ...]:
        """Name each event's query, in the order of events (``ValueError`` for no event, or more than two)."""
        if not 1 <= len(events) <= 2:
            raise ValueError(f"{len(events)} events do not pay for votes, nor for class counts and votes")
        # Taken from the end, because a single event always pays for the votes.
        return (("counts", count_units), ("votes", self.histogram))[-len(events) :]

    def _parents(self, votes: FloatArray, inputs: SelectionInput, target: int) -> IntArray:
        eligible = inputs.eligible(target)
        # H is subtracted after the noise, so it costs nothing. Probabilities cannot be negative.
        kept = np.maximum(votes[eligible] - inputs.threshold, 0.0)
        # Ranking keeps each candidate once. A draw may keep a candidate with many votes several times.
        if self.ranked and not inputs.drawn:
            return np.resize(eligible[np.argsort(-kept, kind="stable")], inputs.wanted)
        # Uniform if noise left no positive vote. Some candidate must be returned, and the choice must not depend on the
        # data.
        weights = kept / kept.sum() if kept.sum() > 0 else None
        return np.asarray(inputs.random(target).choice(eligible, inputs.wanted, p=weights), dtype=np.int64)


@dataclass(frozen=True)
class ExponentialVotes(ExactPicks):
    """Draws candidates by votes without noise, with probability proportional to ``exp(η votes)`` (method ``pe-em``).

    A unit adds at most 1 vote to all classes together. One draw for each class is therefore η-bounded-range in
    total under ``add-remove``, where counts are monotone, and 2η-bounded-range under ``replace-one``. A round's
    event has this bounded range, and its count is the number of draws per class.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Draw candidates by the votes.

        Returns:
            ``chosen``: int64 ``(classes, draws)``, indices into each class's pool, with replacement.
        """
        event = single_event(events)
        require_mechanism(event, "exponential", accesses=event.count)
        # Under replace-one a moved vote changes two scores, so the rate is halved to keep the paid range.
        rate = draw_rate(event, inputs.relation)
        parts = _by_class(self.histogram(private, inputs), inputs)
        chosen = np.empty((len(parts), event.count), dtype=np.int64)
        for target, part in enumerate(parts):
            eligible, key = inputs.eligible(target), f"{inputs.key}/{inputs.labels[target]}"
            # With replacement: each draw is a separate access with the same scores, as its price assumes.
            for draw in range(event.count):
                chosen[target, draw] = eligible[noise.exponential(f"{key}/{draw}", part[eligible], rate)]
        return {"chosen": chosen}

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Return the drawn candidates in the order of the draws. If more are wanted, repeat them from the first."""
        return tuple(np.resize(drawn, inputs.wanted) for drawn in measured["chosen"])

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """Return True if the draws of each class are as many as were paid for, and are eligible candidates."""
        form = {"chosen": (np.int64, (len(inputs.labels), single_event(events).count))}
        return has_shape(measured, form) and are_eligible(measured["chosen"], inputs)

    def histogram(self, private: PrivateEmbeddings, inputs: SelectionInput) -> FloatArray:
        """Return the votes for every candidate of every class, without noise. They are private and sum to 1 per unit.

        Each image has one vote, whatever the input states. With q votes the sensitivity would be q times as large.
        """
        return count_votes(cast_votes(private, inputs, count=1), private.shares, inputs)


def count_units(private: PrivateEmbeddings, inputs: SelectionInput) -> FloatArray:
    """Count the units of each class, float64 ``(classes,)``, without noise. The result is private.

    A unit of several images adds 1 in total.
    """
    # Summed by shares: a patient with three images in two classes counts in both, and 1 in total.
    return np.bincount(private.targets, private.shares, minlength=len(inputs.labels)).astype(np.float64)


def cast_votes(private: PrivateEmbeddings, inputs: SelectionInput, count: int | None = None) -> IntArray:
    """Return the candidates for which each image votes, int64 ``(images, q)``, as indices into all pools.

    The pools are concatenated, class after class. q is ``count`` or otherwise the input's number, and at most the
    number of usable candidates in the class that has the fewest.
    """
    eligible = [inputs.eligible(target) for target in range(len(inputs.labels))]
    # No class has fewer usable candidates than this number, so that every image has the same number of votes and the
    # norm is the same everywhere.
    count = min(count or inputs.votes, *map(len, eligible))
    votes = np.empty((len(private), count), dtype=np.int64)
    for target, start in enumerate(_starts(inputs)[:-1]):
        rows, own = np.flatnonzero(private.targets == target), eligible[target]
        near = nearest_of_some(private.embeddings, rows, inputs.pools[target][own], count)
        votes[rows] = start + own[near]
    return votes


def count_votes(votes: IntArray, shares: FloatArray, inputs: SelectionInput) -> FloatArray:
    """Return the sum of the weights of the votes for each candidate; ``shares`` are float64 ``(images,)``."""
    # Each of an image's q votes has the image's weight. ``norm_shares`` has already bounded their norm.
    each = np.repeat(shares, votes.shape[1])
    return np.asarray(np.bincount(votes.ravel(), each, minlength=_starts(inputs)[-1]), dtype=np.float64)


def _by_class(values: FloatArray, inputs: SelectionInput) -> list[FloatArray]:
    return np.split(values, _starts(inputs)[1:-1])


def _starts(inputs: SelectionInput) -> IntArray:
    return np.cumsum([0, *map(len, inputs.pools)])


def histogram_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of PE: the best tenth's share of the noisy histogram, with K votes spread evenly over this tenth.

    The share is a quotient of expectations: an entry with v votes keeps ``E max(v + N(0, σ²) - H, 0)``, at H = 0. The
    votes are the last access of their round.
    """
    voted, votes = _spread(scope)
    best = best_tenth(scope.candidates)
    sigma = scope.noise_factor * float(events[-1].value) * histogram_sensitivity(scope.relation)
    empty = kept_votes(0.0, sigma)
    good = voted * kept_votes(votes, sigma) + (best - voted) * empty
    return good / (good + (scope.candidates - best) * empty)


def draws_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of PE-EM: K votes spread evenly over the best tenth, drawn with ``exp(η votes)``."""
    voted, votes = _spread(scope)
    return drawn_lift(float(draw_rate(events[0], scope.relation)) * votes, voted, scope)


def kept_votes(votes: float, sigma: float) -> float:
    """Return ``E max(v + N(0, σ²), 0) = v Φ(v/σ) + σ φ(v/σ)``."""
    ratio = votes / sigma
    return float(votes * normal_cdf(ratio) + sigma * math.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi))


def _spread(scope: Scope) -> tuple[int, float]:
    # Returns how many of the best tenth get votes, and how many votes each of them gets. With fewer shots than best
    # candidates, each image votes for a different candidate, which is the ideal case for the method.
    voted = min(best_tenth(scope.candidates), scope.shots)
    return voted, scope.shots / voted


HISTOGRAM = Sensitivity(histogram_sensitivity, "votes")
ONE_VOTE = Sensitivity(lambda relation: 1.0 if relation == "add-remove" else 2.0, "votes")
"""Sensitivity of draws by votes: a unit's vote appears or disappears, or moves from one candidate to another."""


PE = Method(
    name="pe",
    summary=(
        "Private Evolution: private data vote for their nearest candidates; Gaussian noise is added to the votes, "
        "and candidates are resampled by them"
    ),
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy. One privacy unit changes the votes of all classes "
        "together by at most 1 in L2 norm under add-remove and by the square root of 2 under replace-one. The "
        "iterations compose. The calibration published with the method is looser: sigma = sqrt(2 "
        "ln(1.25/delta))/epsilon per step"
    ),
    selector=Votes,
    tight=gaussian_per_round,
    lift=histogram_lift,
    sensitivity=HISTOGRAM,
    worst_case=moving_vote,
    published=published_gaussian_per_round,
    rounds=always(3),
    # As many as candidates, because resampling with replacement keeps the size of the population, as in the paper.
    prototypes=None,
    schedule=Schedule(0.98, 0.6),
)

DRAWS = 5
"""Largest number of draws of ``pe-em`` per class and round, which is also its default number of prototypes."""


def _draws(budget: Budget, scope: Scope) -> Rounds:
    return exponential_draws(PE_EM.prototypes_for(scope.candidates))(budget, scope)


PE_EM = replace(
    PE,
    name="pe-em",
    summary="Private Evolution with the exponential mechanism in place of Gaussian noise",
    guarantee=(
        "epsilon-DP, or (epsilon, delta)-DP if composition of bounded-range mechanisms is tighter. Every draw has a "
        "probability proportional to exp(eta x votes). One privacy unit adds at most 1 vote in one class, so a draw of "
        "all classes together is eta-bounded-range under add-remove and 2 eta-bounded-range under replace-one"
    ),
    selector=ExponentialVotes,
    tight=_draws,
    lift=draws_lift,
    sensitivity=ONE_VOTE,
    published=None,
    prototypes=DRAWS,
)

AUG_PE = Method(
    name="aug-pe",
    summary="Augmented Private Evolution: private data vote for their nearest candidates; Gaussian noise "
    "is added; the candidates with the most votes survive and are varied, and the last survivors "
    "are the dataset",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy. One privacy unit changes the votes of all classes "
        "together by at most 1 in L2 norm under add-remove and by the square root of 2 under replace-one. The "
        "iterations and the selection of the dataset compose"
    ),
    selector=partial(Votes, ranked=True),
    tight=gaussian_per_round,
    lift=histogram_lift,
    sensitivity=HISTOGRAM,
    worst_case=moving_vote,
    rounds=always(9),
    prototypes=None,
    schedule=Schedule(0.98, 0.6),
    blanks=Schedule(0.5, 0.5),
    pool="survivors",
    variations=3,
    keep="selected",
    final_selection_queries_data=True,
)
"""Augmented Private Evolution (Xie et al., ICML 2024, Algorithm 1): votes as in Private Evolution; the best are kept.

The sizes are those that its authors use with chat APIs. L = 4, so the pool has four times the dataset's size: the
survivors and three variations of each survivor. The images vote ten times, and the last vote selects the dataset. In
the paper each word is blanked with probability one half in every round (0.6 on PubMed). Here exactly half of the words
are blanked.
"""
