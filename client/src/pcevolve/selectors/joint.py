"""Joint-vote exponential mechanism (method ``jvem``): images vote for tuples of one candidate per class.

An image's vote for a tuple lies in [0, 1] and is a function of that image and of public data alone; half of it says
that the own class's prototype is close, half that it is closer than the other classes' prototypes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.dp.sensitivity import draw_rate
from pcevolve.privacy import Events
from pcevolve.selectors.distances import distances
from pcevolve.selectors.drawn import Drawn
from pcevolve.selectors.scene import IntArray, Measurement, PrivateEmbeddings, Scene, expect, only

BLOCK = 3
"""Most classes that vote together: tuples multiply."""
MOST_TUPLES = 20_000
CLOSE_SHARE = Fraction(15, 100)
"""m, the candidates that count as close to an image, as a share of the class's; exact, so that the count is."""
CLOSE_WORTH = 0.5
"""α, a multiple of 2**-22, so that totals are exact sums."""


@dataclass(frozen=True)
class Joint(Drawn):
    """One draw per block of classes with probability proportional to ``exp(η V)``.

    A unit has one vote in all: its images' votes are averaged, and those of different blocks add up to at most 1. So
    a round, all blocks together, is η-bounded-range under ``add-remove`` and 2η under ``replace-one``.
    """

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Draw a tuple of each block by its votes.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.
        """
        event = only(events)
        expect(event, "exponential")
        rate = draw_rate(event, scene.relation)
        chosen = np.empty(len(scene.labels), dtype=np.int64)
        for number, (block, tuples) in enumerate(ballots(scene)):
            totals = total_votes(private, scene, block, tuples)
            chosen[block] = tuples[noise.exponential(f"{scene.key}/{number}", totals, rate)]
        return {"chosen": chosen}


def ballots(scene: Scene) -> list[tuple[IntArray, IntArray]]:
    """Random blocks of classes and the tuples that stand for election in each; public.

    Returns:
        For each block its classes, int64 ``(b,)``, and int64 ``(tuples, b)``: a candidate of each of them. All
        tuples if there are at most 20,000, else as many at random.
    """
    random, count = scene.random(), len(scene.labels)
    blocks = np.array_split(random.permutation(count), math.ceil(count / BLOCK))
    return [(block, _tuples([scene.entrants(each) for each in block], random)) for block in blocks]


def total_votes(private: PrivateEmbeddings, scene: Scene, block: IntArray, tuples: IntArray) -> FloatArray:
    """V: the votes of the block's images for each tuple, without noise, float64 ``(tuples,)``: private."""
    totals, shares = np.zeros(len(tuples)), private.shares
    for row in np.flatnonzero(np.isin(private.targets, block)):
        near = [distances(private.embeddings[[row]], scene.pools[each])[0] for each in block]
        own = int(np.flatnonzero(block == private.targets[row])[0])
        totals += shares[row] * votes(near, own, tuples)
    return totals


def votes(near: Sequence[FloatArray], own: int, tuples: IntArray) -> FloatArray:
    """One image's votes, float64 ``(tuples,)`` in [0, 1].

    Args:
        near: For each class of the block, distances to its candidates; not finite for those that cannot be used.
        own: Index of the image's class in the block.
        tuples: int64 ``(tuples, b)``.

    Ties for the last place among the close ones go to the candidates that come first in the pool; a tie of distances
    to prototypes is no victory.
    """
    chosen = np.stack([of_class[tuples[:, column]] for column, of_class in enumerate(near)], axis=1)
    others = np.delete(chosen, own, axis=1).min(axis=1, initial=np.inf)
    close = np.zeros(len(near[own]))
    close_count = math.ceil(CLOSE_SHARE * int(np.isfinite(near[own]).sum()))
    close[np.argsort(near[own], kind="stable")[:close_count]] = CLOSE_WORTH
    return np.asarray(close[tuples[:, own]] + (1 - CLOSE_WORTH) * (chosen[:, own] < others), dtype=np.float64)


def _tuples(pools: Sequence[IntArray], random: np.random.Generator) -> IntArray:
    if math.prod(map(len, pools)) <= MOST_TUPLES:
        return np.array(list(itertools.product(*pools)), dtype=np.int64)
    return np.stack([random.choice(pool, MOST_TUPLES) for pool in pools], axis=1)
