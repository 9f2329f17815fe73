"""Neighbouring datasets in the plane that are as far apart as the sensitivity analyses allow.

Candidates sit at an eastern and a western point. What is released about the first dataset speaks for the east, what
is released about its neighbour for the west, and nothing that a single privacy unit could do would turn it further.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcevolve.methods import Scope
from pcevolve.methods.method import SelectorName
from pcevolve.modality.images.appearance import MIDDLE, NUMBERS, FloatArray
from pcevolve.privacy import Relation
from pcevolve.selectors import PrivateEmbeddings, Scene

Point = tuple[float, float]
Unit = tuple[int, Point, int]
"""A privacy unit: the class and point of its images, and how many it has."""

LABELS = ("first", "second")
SHOTS = 2

EAST, WEST, BETWEEN = (0.1, 0.0), (-0.1, 0.0), (0.0, 0.0)
BEYOND_EAST = (0.3, 0.0)  # the mean of it and WEST is EAST
BESIDE = (0.3, 0.001)  # as good, and another place, so that a leak of bare embeddings shows
FAR_EAST, FAR_WEST, NORTH = (30.0, 0.0), (-30.0, 0.0), (0.0, 0.1)


@dataclass(frozen=True)
class Neighbours:
    """Two datasets that differ in one privacy unit, and the candidates that they judge.

    Attributes:
        pools: For each class, the points of its candidates.
        common: The units of both datasets.
        first: The unit that only the first dataset has.
        second: The unit that the second has instead; None under ``add-remove``.
        relation: Neighbour relation.
    """

    pools: tuple[tuple[Point, ...], ...]
    common: tuple[Unit, ...]
    first: Unit
    second: Unit | None
    relation: Relation

    @property
    def datasets(self) -> tuple[PrivateEmbeddings, PrivateEmbeddings]:
        """Embeddings of the first dataset and of the second."""
        other = (self.second,) if self.second else ()
        return _embeddings_of((*self.common, self.first)), _embeddings_of((*self.common, *other))

    @property
    def appearances(self) -> tuple[FloatArray, FloatArray]:
        """Appearances of the images of both, float64 ``(images, 6)``: the unit goes from one extreme to the other."""
        rest = [np.full((images, NUMBERS), MIDDLE) for _, _, images in self.common]
        other = [np.zeros((self.second[2], NUMBERS))] if self.second else []
        return np.vstack([*rest, np.ones((self.first[2], NUMBERS))]), np.vstack([*rest, *other])

    def scope(self, rounds: int) -> Scope:
        """Public sizes, which decide the price of a round."""
        return Scope(
            relation=self.relation,
            iterations=rounds,
            classes=len(LABELS),
            shots=SHOTS,
            candidates=len(self.pools[0]),
        )

    def scene(self, iteration: int, rounds: int, wanted: int) -> Scene:
        """The question of one round; the same candidates are judged in all rounds."""
        return Scene(
            labels=LABELS,
            pools=tuple(np.array(pool) for pool in self.pools),
            wanted=wanted,
            shots=SHOTS,
            iteration=iteration,
            iterations=rounds,
            seed=0,
            relation=self.relation,
        )


def worst_case(selector: SelectorName, relation: Relation, images: int) -> Neighbours:
    """A pair that a selector of this kind can hardly treat more differently.

    Args:
        selector: Kind of selector.
        relation: Neighbour relation.
        images: Images in the privacy unit that changes; all of them are alike.
    """
    if selector in ("votes", "votes-em", "joint", "means"):
        return _moving_votes(relation, images)
    return _moving_centres(relation, images)


def _moving_votes(relation: Relation, images: int) -> Neighbours:
    """A unit of the first class leaves one candidate for the other, and one end of the clipping ball for the other.

    The second class stays between both, so that its candidates win where those of the first class lose.
    """
    return Neighbours(
        pools=((EAST, WEST), (NORTH, NORTH)),
        common=((0, WEST, 1), (1, NORTH, 1)),
        first=(0, FAR_EAST, images),
        second=(0, FAR_WEST, images) if relation == "replace-one" else None,
        relation=relation,
    )


def _moving_centres(relation: Relation, images: int) -> Neighbours:
    """A class's centre moves from east to west, and the other's the other way if the unit changes its class.

    One candidate in four loses by that and three win, so both the score and the normalisation of a draw turn
    against the one.
    """
    changes_class = relation == "replace-one"
    return Neighbours(
        pools=((EAST, WEST, WEST, WEST), (WEST, EAST, EAST, EAST)),
        common=((0, WEST, 1), (1, WEST if changes_class else BETWEEN, 1)),
        first=(0, BEYOND_EAST, images),
        second=(1, BESIDE, images) if changes_class else None,
        relation=relation,
    )


def _embeddings_of(units: tuple[Unit, ...]) -> PrivateEmbeddings:
    targets, points, images = zip(*units, strict=True)
    return PrivateEmbeddings(
        embeddings=np.repeat(np.array(points, dtype=np.float64), images, axis=0),
        targets=np.repeat(np.array(targets, dtype=np.int64), images),
        units=np.repeat(np.arange(len(units), dtype=np.int64), images),
    )
