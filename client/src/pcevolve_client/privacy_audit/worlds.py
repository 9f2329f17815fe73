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
BESIDE = (3.0, 0.1)  # nearly as good, and yet another place, so that a leak of bare embeddings shows
LABELS = ("first", "second")
POOLS = ([EAST, WEST, WEST, WEST], [WEST, EAST, EAST, EAST])
CANDIDATES, SHOTS = 4, 2

Unit = tuple[int, tuple[float, float], int]
"""A privacy unit: the class and place of its images, and how many it has."""


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


def worst_case(selector: SelectorName, relation: Relation, images: int) -> Neighbours:
    """A pair that a selector of this kind can hardly treat more differently.

    Args:
        selector: Kind of selector.
        relation: Neighbour relation.
        images: Images in the privacy unit that changes; all of them are alike.
    """
    changed: Unit = (0, FAR_EAST, images)
    if relation == "add-remove":
        return _pair([(0, WEST, 1), (1, NORTH, 1)], changed, None, relation)
    # Opposite ends of the clipping ball move the sum of the means by 2 R, a change of class only by sqrt(2) R. For all
    # others the class changes too: both classes' centres move, and votes leave one class for the other.
    other: Unit = (0, FAR_WEST, images) if selector == "means" else (1, BESIDE, images)
    return _pair([(0, WEST, 1), (1, WEST, 1)], changed, other, relation)


def _pair(common: list[Unit], first: Unit, second: Unit | None, relation: Relation) -> Neighbours:
    with_second = [*common, second] if second is not None else common
    return Neighbours(_records([*common, first]), _records(with_second), relation)


def _records(units: list[Unit]) -> Records:
    targets, places, images = zip(*units, strict=True)
    return Records(
        embeddings=np.repeat(np.array(places, dtype=np.float64), images, axis=0),
        targets=np.repeat(np.array(targets, dtype=np.int64), images),
        units=np.repeat(np.arange(len(units), dtype=np.int64), images),
    )
