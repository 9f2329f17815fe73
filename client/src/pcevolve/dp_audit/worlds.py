"""The neighbouring datasets that a method names as its worst case, as embeddings in the plane and as appearances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcevolve.errors import UsageError
from pcevolve.modality.images.appearance import MIDDLE, NUMBERS, FloatArray
from pcevolve.privacy import Relation
from pcevolve.selectors import Method, PrivateEmbeddings, Scene, Scope
from pcevolve.selectors.scene import Point

Unit = tuple[int, Point, int]
"""A privacy unit: the class and point of its images, and how many it has."""

LABELS = ("first", "second")
SHOTS = 2


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

    @classmethod
    def worst_for(cls, method: Method, relation: Relation, images: int) -> Neighbours:
        """The pair that a method names.

        Args:
            method: Whose selector will be tried.
            relation: Neighbour relation.
            images: Images in the privacy unit that changes; all of them are alike.

        Raises:
            UsageError: The method never looks at private data, or names no worst case.
        """
        if method.selector is None:
            raise UsageError(f"method '{method.name}' never looks at private data: there is nothing to audit")
        if method.worst_case is None:
            raise UsageError(
                f"method '{method.name}' names no neighbouring datasets that are worst for it, so an audit would show "
                "nothing: give it a worst_case"
            )
        worst = method.worst_case(relation)
        return cls(
            pools=worst.pools,
            common=tuple((*unit, 1) for unit in worst.common),
            first=(*worst.first, images),
            second=(*worst.second, images) if worst.second else None,
            relation=relation,
        )

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


def _embeddings_of(units: tuple[Unit, ...]) -> PrivateEmbeddings:
    targets, points, images = zip(*units, strict=True)
    return PrivateEmbeddings(
        embeddings=np.repeat(np.array(points, dtype=np.float64), images, axis=0),
        targets=np.repeat(np.array(targets, dtype=np.int64), images),
        units=np.repeat(np.arange(len(units), dtype=np.int64), images),
    )
