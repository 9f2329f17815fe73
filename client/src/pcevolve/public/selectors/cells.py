"""Count the private records near each first candidate, once; every selection after that is free (SecPE).

The anchors of cells are public: the first candidates, or cluster centres of them. A record counts for the
cell of its class's nearest anchor: less if it holds secrets, and never more than a unit's whole vote. Later
candidates also fall into cells by their nearest anchor, so no later round looks at private data.

The published mechanism (arXiv 2510.10990) draws records anew in each round. Here all are counted once: the
centres of cells do not depend on what is released, so asking again gains nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pcevolve.public.dp.calibration import histogram_sensitivity
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.geometry.distances import (
    IntArray,
    are_single,
    find_centres,
    find_firsts_of_equals,
    nearest_of_some,
)
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors.consistency import has_shape
from pcevolve.public.selectors.method import Method, Schedule, always
from pcevolve.public.selectors.rounds import Scope, gaussian_once
from pcevolve.public.selectors.selection import (
    Measurement,
    PrivateEmbeddings,
    SelectionInput,
    moving_vote,
    round_down,
    single_event,
)
from pcevolve.public.selectors.votes import (
    HISTOGRAM,
    ExactPicks,
    cast_votes,
    could_be_counts,
    count_votes,
    histogram_lift,
    release_counts,
)

LEAST = 1e-9
"""Floor for a cell's noisy count, so that its logarithm exists; its candidates rank last."""
CLEAR: Final = 2.0
"""Standard deviations of noise that the average cell's count must reach."""
FEWEST: Final = 12
"""Fewest cells: with fewer, a selection hardly differs from chance, however clear the counts (decision 42)."""


@dataclass(frozen=True)
class Cells(ExactPicks):
    """Gaussian noise on the weighted counts of all cells of all classes together (method ``secpe``).

    Each of a unit's m records adds 1/m, so the unit's vector of counts has an L2 norm of at most 1. Records
    that hold secrets add less, by ``dp.attacks.secret_share``, which has the proof. Shares that make the norm
    just 1, as Private Evolution's do, would depend on where the unit's other records lie: another value of a
    secret in one record would change what all of them count.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Count records by cell and add noise.

        Returns:
            ``cells``: float64 ``(anchors of all classes,)``, class after class, rounded to the noise's scale.
                ``anchors``:
            int64 ``(classes,)``, the public number of first candidates of each class.
        """
        # The sizes go on record: when this measurement is used again, later rounds have added candidates
        # behind the first ones, which alone are anchors.
        event, sizes = single_event(events), _sizes(inputs)
        around = replace(inputs, pools=find_anchors(inputs, sizes))
        votes = cast_votes(private, around, count=1)
        # The product, not the minimum: a unit's cap must not depend on how its votes lie.
        weights = round_down(private.shares * private.capped)
        counts = count_votes(votes, weights, around)
        return {"cells": release_counts(counts, event, "cells", inputs, noise), "anchors": sizes}

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Pick candidates of each class without replacement, by their cells' counts, with public Gumbel noise."""
        # By the recorded sizes, not by this round's pools, which have grown since the records were counted.
        anchors = find_anchors(inputs, measured["anchors"])
        parts = np.split(measured["cells"], np.cumsum([len(each) for each in anchors])[:-1])
        of_classes = enumerate(zip(parts, anchors, strict=True))
        return tuple(_best(part, own, inputs, target) for target, (part, own) in of_classes)

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        # Counted from the pools again: a record that states its own sizes could shift counts between classes.
        sizes = _sizes(inputs)
        cells = sum(len(each) for each in find_anchors(inputs, sizes))
        form = {"cells": (np.float64, (cells,)), "anchors": (np.int64, sizes.shape)}
        is_formed = has_shape(measured, form) and np.array_equal(measured["anchors"], sizes)
        return is_formed and could_be_counts(measured["cells"], single_event(events), inputs)


def _best(cells: FloatArray, anchors: FloatArray, inputs: SelectionInput, target: int) -> IntArray:
    pool, eligible = inputs.pools[target], inputs.eligible(target)
    usable = np.flatnonzero(np.isfinite(anchors).all(axis=1))
    # Any rule that ignores the private data would do here; this one spreads over all cells.
    near = eligible % len(cells)  # where none of the first candidates can be used
    if len(usable):
        near = usable[nearest_anchors(pool, eligible, anchors[usable], around_firsts=inputs.cells is None)]
    inhabitants = np.bincount(near, minlength=len(cells))[near]
    # Spread over the cell's candidates, or a cell that happens to hold many would be preferred for it.
    scores = np.log(np.maximum(cells[near], LEAST) / inhabitants)
    # Best first after Gumbel noise on logarithms is a draw without replacement in which each has its share.
    scores += inputs.random(target).gumbel(size=len(eligible))
    # If more are wanted than there are candidates, the draw repeats in its own order: public, and alike on
    # every machine.
    return np.resize(eligible[np.argsort(-scores, kind="stable")], inputs.wanted)


def nearest_anchors(
    pool: FloatArray, eligible: IntArray, anchors: FloatArray, around_firsts: bool
) -> IntArray:
    """Return the index of each candidate's nearest anchor, int64 ``(eligible,)``; ties go to the first.

    Args:
        anchors: float64 ``(anchors, d)``, all finite.
        around_firsts: True if the anchors are the first eligible candidates themselves: no search is needed
            for these.
    """
    # Two different float64 numbers can be at distance 0 in float64 arithmetic; two float32 numbers cannot.
    known = find_firsts_of_equals(anchors if around_firsts and are_single(anchors) else anchors[:0])
    searched = nearest_of_some(pool, eligible[len(known) :], anchors, 1)[:, 0]
    return np.concatenate([known, searched])


def find_anchors(inputs: SelectionInput, sizes: Sequence[int] | IntArray) -> tuple[FloatArray, ...]:
    """Return each class's anchors, float64 ``(cells, d)``: its first candidates, or cluster centres of them.

    Args:
        inputs: Its pools begin with the first candidates.
        sizes: int64 ``(classes,)``: the number of first candidates of each class.
    """
    # Candidates are only ever appended, so the first ones are at the same places in every round.
    firsts = [pool[:size] for pool, size in zip(inputs.pools, sizes, strict=True)]
    return tuple(first if inputs.cells is None else _group(first, inputs.cells) for first in firsts)


def _group(first: FloatArray, count: int) -> FloatArray:
    """Cluster the usable candidates; if none is usable, return the first ``count``."""
    # A cluster centre of an unusable candidate would be NaN, and then no record had a nearest cell.
    usable = first[np.isfinite(first).all(axis=1)]
    return find_centres(usable, count) if len(usable) else first[:count]


def _sizes(inputs: SelectionInput) -> IntArray:
    return np.array([len(pool) for pool in inputs.pools], dtype=np.int64)


def choose_cells(event: Event, scope: Scope, share: float, initial: int) -> int:
    """Return the default number of cells of each class, so that the average cell outcounts the noise.

    It holds even if every text held a secret.

    Args:
        share: The part that is left of the vote of a text with a secret, in [0, 1]; see
            ``dp.attacks.secret_share``.
    """
    # By nominal shots and the plan's noise, both public: a number that followed the private counts would have
    # to be paid for.
    sigma = float(event.value) * histogram_sensitivity(scope.relation)
    # At most one cell for each first candidate: there is no finer division of the space.
    return min(initial, max(FEWEST, int(scope.shots * share / (CLEAR * sigma))))


METHOD = Method(
    name="secpe",
    summary="SecPE: private records are counted once around clusters of the first candidates, with Gaussian noise, and "
    "count for less if they hold a secret; selecting from the counts costs no more privacy",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of counts of all classes together, to which "
        "a privacy unit adds a vector of L2 norm at most 1, of L2 sensitivity 1 under add-remove and the square root "
        "of 2 under replace-one; every selection is post-processing of it"
    ),
    selector=Cells,
    tight=gaussian_once,
    lift=histogram_lift,
    sensitivity=HISTOGRAM,
    worst_case=moving_vote,
    rounds=always(4),
    prototypes=None,
    # As in Private Evolution: nearly a new image at first, small changes in the end.
    schedule=Schedule(0.98, 0.6),
    initial=4,
    # Anchors stay candidates in every round, and the counts apply to all rounds alike.
    pool="all",
    keep="selected",
)
