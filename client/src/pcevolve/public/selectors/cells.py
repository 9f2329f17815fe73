"""Count once how many private records are near each of the first candidates. All later selections are free (SecPE).

Private records are counted in cells around public anchors. The anchors are the first candidates or the cluster
centres of these. Each record counts for the cell of the nearest anchor of its class. A record that holds secrets
counts less, and all records of a unit together count at most one vote. Later candidates are assigned to cells by
their nearest anchor too, so no later round reads private data.

The published mechanism (arXiv 2510.10990) draws new records in each round. Here all records are counted once,
because the centres of the cells do not depend on what is released: a second count would add nothing.
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
"""Lower limit of a cell's noisy count, so that its logarithm exists. Candidates in a cell with this count rank last."""
CLEAR: Final = 2.0
"""The smallest expected count of an average cell, in standard deviations of the noise."""
FEWEST: Final = 12
"""The smallest number of cells per class. With fewer, selection hardly beats chance at any noise (decision 42)."""


@dataclass(frozen=True)
class Cells(ExactPicks):
    """Gaussian noise on the weighted counts of all cells of all classes together (method ``secpe``).

    Each of a unit's m records adds 1/m, so the unit's vector of counts has an L2 norm of at most 1. Records that hold
    secrets add less. ``dp.attacks.secret_share`` computes their weight and contains the proof. Private Evolution
    chooses weights that make the norm exactly 1. Such weights would depend on the cells of the unit's other records,
    so another value of a secret in one record would change the weights of all of them.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Count records by cell and add noise.

        Returns:
            ``cells``: float64 ``(anchors of all classes,)``, class after class, rounded to the noise's scale.
            ``anchors``: int64 ``(classes,)``, the public number of first candidates of each class.
        """
        # The sizes are recorded, because only the first candidates are anchors. When a later round uses this
        # measurement, its pools also contain newer candidates.
        event, sizes = single_event(events), _sizes(inputs)
        around = replace(inputs, pools=find_anchors(inputs, sizes))
        votes = cast_votes(private, around, count=1)
        # The product rather than the minimum: a unit's cap must not depend on the cells in which its votes fall.
        weights = round_down(private.shares * private.capped)
        counts = count_votes(votes, weights, around)
        return {"cells": release_counts(counts, event, "cells", inputs, noise), "anchors": sizes}

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Pick candidates of each class without replacement, by the counts of their cells plus public Gumbel noise."""
        # Uses the recorded sizes, because this round's pools have grown since the records were counted.
        anchors = find_anchors(inputs, measured["anchors"])
        parts = np.split(measured["cells"], np.cumsum([len(each) for each in anchors])[:-1])
        of_classes = enumerate(zip(parts, anchors, strict=True))
        return tuple(_best(part, own, inputs, target) for target, (part, own) in of_classes)

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        # Counted again from the pools, because a forged record could state other sizes and so shift counts between
        # classes.
        sizes = _sizes(inputs)
        cells = sum(len(each) for each in find_anchors(inputs, sizes))
        form = {"cells": (np.float64, (cells,)), "anchors": (np.int64, sizes.shape)}
        is_formed = has_shape(measured, form) and np.array_equal(measured["anchors"], sizes)
        return is_formed and could_be_counts(measured["cells"], single_event(events), inputs)


def _best(cells: FloatArray, anchors: FloatArray, inputs: SelectionInput, target: int) -> IntArray:
    pool, eligible = inputs.pools[target], inputs.eligible(target)
    usable = np.flatnonzero(np.isfinite(anchors).all(axis=1))
    # If no first candidate is usable, any rule that ignores the private data would do. This rule spreads candidates
    # over all cells.
    near = eligible % len(cells)  # where none of the first candidates can be used
    if len(usable):
        near = usable[nearest_anchors(pool, eligible, anchors[usable], around_firsts=inputs.cells is None)]
    inhabitants = np.bincount(near, minlength=len(cells))[near]
    # The count is divided among the cell's candidates. Otherwise each candidate of a crowded cell would be preferred.
    scores = np.log(np.maximum(cells[near], LEAST) / inhabitants)
    # Sorting by logarithm plus Gumbel noise equals a draw without replacement with these weights.
    scores += inputs.random(target).gumbel(size=len(eligible))
    # If there are fewer candidates than wanted, the candidates repeat in the drawn order. This order is public and the
    # same on every machine.
    return np.resize(eligible[np.argsort(-scores, kind="stable")], inputs.wanted)


def nearest_anchors(
    pool: FloatArray, eligible: IntArray, anchors: FloatArray, around_firsts: bool
) -> IntArray:
    """Return the index of each candidate's nearest anchor, int64 ``(eligible,)``. The first anchor wins a tie.

    Args:
        pool: The embeddings of a class's candidates, float64 ``(candidates, d)``.
        eligible: The indices of the usable candidates.
        anchors: float64 ``(anchors, d)``, all finite.
        around_firsts: True if the anchors are the first eligible candidates, which then need no search.
    """
    # The search is left out for float32 only, because two different float64 numbers can have a distance of 0 in float64
    # arithmetic.
    known = find_firsts_of_equals(anchors if around_firsts and are_single(anchors) else anchors[:0])
    searched = nearest_of_some(pool, eligible[len(known) :], anchors, 1)[:, 0]
    return np.concatenate([known, searched])


def find_anchors(inputs: SelectionInput, sizes: Sequence[int] | IntArray) -> tuple[FloatArray, ...]:
    """Return the anchors of each class, float64 ``(cells, d)``: its first candidates, or their cluster centres.

    Args:
        inputs: The input. Its pools begin with the first candidates.
        sizes: int64 ``(classes,)``, the number of first candidates of each class.
    """
    # Candidates are only ever appended, so the first candidates have the same indices in every round.
    firsts = [pool[:size] for pool, size in zip(inputs.pools, sizes, strict=True)]
    return tuple(first if inputs.cells is None else _group(first, inputs.cells) for first in firsts)


def _group(first: FloatArray, count: int) -> FloatArray:
    """Cluster the usable candidates. If none is usable, return the first ``count`` candidates."""
    # An unusable candidate would make a cluster centre NaN, and then no record would have a nearest cell.
    usable = first[np.isfinite(first).all(axis=1)]
    return find_centres(usable, count) if len(usable) else first[:count]


def _sizes(inputs: SelectionInput) -> IntArray:
    return np.array([len(pool) for pool in inputs.pools], dtype=np.int64)


def choose_cells(event: Event, scope: Scope, share: float, initial: int) -> int:
    """Return the default number of cells of each class, chosen so that the average count exceeds the noise.

    This holds even if every text contains a secret.

    Args:
        share: The share of its vote that a text with a secret keeps, in [0, 1] (``dp.attacks.secret_share``).
        initial: The number of first candidates of each class.
    """
    # Nominal shots and the plan's noise are public. A number that depends on the private counts would cost budget.
    sigma = float(event.value) * histogram_sensitivity(scope.relation)
    # More cells than first candidates would not divide the space more finely.
    return min(initial, max(FEWEST, int(scope.shots * share / (CLEAR * sigma))))


METHOD = Method(
    name="secpe",
    summary="SecPE: private records are counted once around clusters of the first candidates, with Gaussian noise, and "
    "count for less if they hold a secret; selecting from the counts costs no more privacy",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy. One release contains the counts of all classes. One "
        "privacy unit adds a vector of L2 norm at most 1, so the L2 sensitivity is 1 under add-remove and the square "
        "root of 2 under replace-one. Every selection is post-processing of this release"
    ),
    selector=Cells,
    tight=gaussian_once,
    lift=histogram_lift,
    sensitivity=HISTOGRAM,
    worst_case=moving_vote,
    rounds=always(4),
    prototypes=None,
    # As in Private Evolution, early variations are almost new images, and late variations change little.
    schedule=Schedule(0.98, 0.6),
    initial=4,
    # The anchors stay candidates in every round, because the counts apply to all rounds.
    pool="all",
    keep="selected",
)
