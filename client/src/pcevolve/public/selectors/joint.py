"""Joint-vote exponential mechanism (method ``jvem``): images vote for tuples of one candidate per class.

An image's vote for a tuple lies in [0, 1] and depends only on this image and public data. Half of the vote is given if
the tuple's candidate for the image's class is close to the image. The other half is given if this candidate is closer
to the image than the tuple's candidates for all other classes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pcevolve.public.dp.calibration import draw_rate
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import IntArray, distances
from pcevolve.public.privacy import Budget, Event, Events
from pcevolve.public.selectors.consistency import Drawn
from pcevolve.public.selectors.method import Method, Schedule
from pcevolve.public.selectors.rounds import Scope, best_tenth, drawn_lift, exponential_draws
from pcevolve.public.selectors.selection import (
    Measurement,
    PrivateEmbeddings,
    SelectionInput,
    moving_vote,
    require_mechanism,
    single_event,
)
from pcevolve.public.selectors.votes import ONE_VOTE

# With ten candidates per class there are 1,000 tuples for three classes and 10,000 for four. Each image's votes
# are computed for every tuple.
BLOCK = 3
"""Largest number of classes that vote together. The number of tuples is the product of the sizes of their pools."""
# For each private image, time and memory grow with the number of tuples. If there are more
# tuples than this, the images vote on a public random sample.
MOST_TUPLES = 20_000
CLOSE_SHARE = Fraction(15, 100)
"""m, the share of a class's candidates that count as close to an image. The fraction makes their number exact."""
CLOSE_WORTH = 0.5
"""α, the part of a vote that closeness earns. A multiple of 2**-22 keeps sums of votes exact."""
# The PCEvolve paper's number of iterations, which is also the default of PCEvolve here.
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Joint(Drawn):
    """One draw per block of classes with probability proportional to ``exp(η V)``.

    A unit has one vote in total: the votes of its images are averaged, and its votes in different blocks add up to at
    most 1. A round with all its blocks is therefore η-bounded-range under ``add-remove`` and 2η-bounded-range under
    ``replace-one``.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Draw one tuple for each block by its votes.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.
        """
        event = single_event(events)
        require_mechanism(event, "exponential")
        # One rate for all blocks: a unit's votes in all blocks add up to at most 1, so blocks compose in parallel.
        rate = draw_rate(event, inputs.relation)
        chosen = np.empty(len(inputs.labels), dtype=np.int64)
        for number, (block, tuples) in enumerate(draw_ballots(inputs)):
            totals = sum_votes_for_tuples(private, inputs, block, tuples)
            chosen[block] = tuples[noise.exponential(f"{inputs.key}/{number}", totals, rate)]
        return {"chosen": chosen}


def draw_ballots(inputs: SelectionInput) -> list[tuple[IntArray, IntArray]]:
    """Draw random blocks of classes and the tuples that are voted on in each block. Both are public.

    Returns:
        For each block, its classes, int64 ``(b,)``, and its tuples, int64 ``(tuples, b)``. A tuple contains a
        candidate of each class. If there are more than 20,000 tuples, 20,000 are drawn at random.
    """
    # Public randomness: the blocks must not depend on the votes, and the auditor must be able to draw the same blocks.
    random, count = inputs.random(), len(inputs.labels)
    blocks = np.array_split(random.permutation(count), math.ceil(count / BLOCK))
    return [(block, _tuples([inputs.eligible(each) for each in block], random)) for block in blocks]


def sum_votes_for_tuples(
    private: PrivateEmbeddings, inputs: SelectionInput, block: IntArray, tuples: IntArray
) -> FloatArray:
    """Return V, the votes of the block's images for each tuple, without noise, float64 ``(tuples,)``. V is private."""
    totals, shares = np.zeros(len(tuples)), private.shares
    # Shares are multiples of 2**-30 and votes of 2**-22, so this running sum is exact in any order.
    for row in np.flatnonzero(np.isin(private.targets, block)):
        near = [distances(private.embeddings[[row]], inputs.pools[each])[0] for each in block]
        own = int(np.flatnonzero(block == private.targets[row])[0])
        totals += shares[row] * vote_for_tuples(near, own, tuples)
    return totals


def vote_for_tuples(near: Sequence[FloatArray], own: int, tuples: IntArray) -> FloatArray:
    """Return one image's votes, float64 ``(tuples,)`` in [0, 1].

    If several candidates tie for the last close place, the first one in the pool gets it. A candidate that is only as
    close as another class's candidate does not count as closer.

    Args:
        near: For each class of the block, the distances to its candidates. Those of unusable candidates are not
            finite.
        own: The index of the image's class in the block.
        tuples: int64 ``(tuples, b)``.
    """
    chosen = np.stack([of_class[tuples[:, column]] for column, of_class in enumerate(near)], axis=1)
    # A block of one class has no other classes. Comparison with infinity then counts every candidate as closer.
    others = np.delete(chosen, own, axis=1).min(axis=1, initial=np.inf)
    close = np.zeros(len(near[own]))
    # Only usable candidates count. Their number is public.
    close_count = math.ceil(CLOSE_SHARE * int(np.isfinite(near[own]).sum()))
    close[np.argsort(near[own], kind="stable")[:close_count]] = CLOSE_WORTH
    return np.asarray(close[tuples[:, own]] + (1 - CLOSE_WORTH) * (chosen[:, own] < others), dtype=np.float64)


def _tuples(pools: Sequence[IntArray], random: np.random.Generator) -> IntArray:
    if math.prod(map(len, pools)) <= MOST_TUPLES:
        return np.array(list(itertools.product(*pools)), dtype=np.int64)
    return np.stack([random.choice(pool, MOST_TUPLES) for pool in pools], axis=1)


def joint_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of JVEM: a class's K images vote 1 for tuples with a prototype of the best tenth, 0 for others.

    The ideal total is then a sum over classes. The draw for a block is therefore equivalent to one draw per class, with
    ``exp(η K)`` for the best tenth.
    """
    return drawn_lift(
        float(draw_rate(events[0], scope.relation)) * scope.shots, best_tenth(scope.candidates), scope
    )


def choose_rounds(budget: Budget, scope: Scope) -> int:
    """Return ``T = clip(floor(epsilon K / 30), 1, 20)`` under ``replace-one``. Under ``add-remove``, 15 replaces 30."""
    # A draw under replace-one costs twice as much as under add-remove, so half as many rounds are affordable.
    share = Fraction(30 if scope.relation == "replace-one" else 15)
    return min(max(int(budget.epsilon * scope.shots / share), 1), MOST_ROUNDS)


METHOD = Method(
    name="jvem",
    summary="Joint-vote exponential mechanism: private data vote for tuples of one candidate per class",
    guarantee=(
        "Every round is one access, which is eta-bounded-range under add-remove and 2 eta-bounded-range under "
        "replace-one. A privacy unit's vote for a tuple lies in [0, 1] and counts in one block of classes, so blocks "
        "compose in parallel. Rounds compose adaptively, by the best of pure, zCDP and Renyi accounting at the given "
        "delta"
    ),
    selector=Joint,
    tight=exponential_draws(1),
    lift=joint_lift,
    sensitivity=ONE_VOTE,
    worst_case=moving_vote,
    rounds=choose_rounds,
    schedule=Schedule(0.8, 0.6),
)
