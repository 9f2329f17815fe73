"""Neighbouring datasets in the plane that are as far apart as the sensitivity analyses allow.

Two classes, four candidates each. Candidates sit in two places, one alone and three together: the lone one wins with
one dataset and loses with its neighbour, so its score and the normalisation of the draw both move against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..budget.calibration import Scope
from ..methods.method import SelectorName
from ..privacy import Relation
from ..private.selectors import Records, Scene

EAST, WEST, NORTH = (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)
FAR_EAST, FAR_WEST = (3.0, 0.0), (-3.0, 0.0)  # the mean of FAR_EAST and WEST is EAST
LABELS = ("first", "second")
POOLS = ([EAST, WEST, WEST, WEST], [WEST, EAST, EAST, EAST])
CANDIDATES, SHOTS = 4, 2

Record = tuple[int, tuple[float, float]]
"""Class and place of one image, which is a privacy unit of its own."""


@dataclass(frozen=True)
class Neighbours:
    """Two datasets that differ in one privacy unit, and the candidates that they judge."""

    first: Records
    second: Records
    relation: Relation

    def scene(self, iteration: int, rounds: int, wanted: int) -> Scene:
        """The question of one round; the same candidates are judged in all rounds."""
        return Scene(
            labels=LABELS,
            pools=tuple(np.array(pool) for pool in POOLS),
            born=tuple(np.zeros(len(pool), dtype=np.int64) for pool in POOLS),
            wanted=wanted,
            shots=SHOTS,
            iteration=iteration,
            iterations=rounds,
            seed=0,
            relation=self.relation,
            threshold=0.0,
        )


def scope(relation: Relation, rounds: int) -> Scope:
    """Public sizes, which decide the price of a round."""
    return Scope(
        relation=relation, iterations=rounds, classes=len(LABELS), shots=SHOTS, candidates=CANDIDATES
    )


def worst_case(selector: SelectorName, relation: Relation) -> Neighbours:
    """A pair that a selector of this kind can hardly treat more differently."""
    if relation == "add-remove":
        return _pair([(0, WEST), (1, NORTH)], (0, FAR_EAST), None, relation)
    if (
        selector == "means"
    ):  # opposite ends of the clipping ball move the sum by 2 R, two classes only by sqrt(2) R
        return _pair([(0, WEST), (1, WEST)], (0, FAR_EAST), (0, FAR_WEST), relation)
    # The label changes too: the centres of both classes move, and votes leave one class for the other.
    return _pair([(0, WEST), (1, WEST)], (0, FAR_EAST), (1, FAR_EAST), relation)


def _pair(common: list[Record], first: Record, second: Record | None, relation: Relation) -> Neighbours:
    with_second = [*common, second] if second is not None else common
    return Neighbours(_records([*common, first]), _records(with_second), relation)


def _records(rows: list[Record]) -> Records:
    targets, places = zip(*rows, strict=True)
    return Records(
        embeddings=np.array(places, dtype=np.float64),
        targets=np.array(targets, dtype=np.int64),
        units=np.arange(len(rows), dtype=np.int64),
    )
