"""All neighbouring datasets of a small world, and what a selector's draws reveal of which one it saw; exact.

A world has so few places that every dataset of a few privacy units can be written down. The noise is replaced by an
observer that notes what it is asked to hide, so that the whole of ``measure`` is under test: scores, rate, sigma.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.privacy import Events, Relation
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput, Selector
from support.draws import FloatArray, exponential_probabilities

IntArray = NDArray[np.int64]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")

Unit = tuple[tuple[float, int], ...]
"""A privacy unit: place and class of each of its images."""
Dataset = tuple[Unit, ...]
Asked = list[tuple[str, FloatArray, float]]
"""Of each draw: its key, the values to hide, and a rate or a standard deviation."""
Seen = tuple[dict[Dataset, Asked], IntArray, IntArray]


@dataclass
class Observer:
    """Noise that adds none, and notes every draw.

    Attributes:
        middle: What the release of a centre is made to say, whatever the data are: the draw after it is judged given
            what it said. None for what was asked.
    """

    source: str = "INSECURE-seeded"
    middle: float | None = None
    asked: Asked = field(default_factory=list)

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        self.asked.append((key, scores, float(rate)))
        return 0

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        self.asked.append((key, values, sigma))
        fixed = self.middle is not None and key.endswith("/middle")
        return np.full_like(values, self.middle) if fixed else values


@dataclass(frozen=True)
class World:
    """A line with a few places on it.

    Attributes:
        pools: Candidates of each class.
        places: Where private images may be.
        images: Most images per privacy unit.
        sizes: Numbers of units that stay the same in a pair of neighbours.
        frame: Public frame for class means; None for that of the candidates.
        votes: How many candidates each image votes for.
        cells: Most cells of each class; None for one around every candidate.
    """

    pools: tuple[tuple[float, ...], ...]
    places: tuple[float, ...]
    images: int = 1
    sizes: tuple[int, ...] = (0, 1, 2)
    frame: Frame | None = None
    votes: int = 1
    cells: int | None = None

    def scene(self, relation: Relation, **changes: object) -> SelectionInput:
        """The question that every dataset is asked."""
        pools = tuple(np.array(pool)[:, None] for pool in self.pools)
        values: dict[str, object] = {
            "labels": tuple(f"class {place}" for place in range(len(pools))),
            "pools": pools,
            "wanted": 1,
            "shots": 2,
            "iteration": 1,
            "iterations": 1,
            "seed": 5,
            "relation": relation,
            "frame": self.frame,
            "votes": self.votes,
            "cells": self.cells,
        }
        return SelectionInput(**{**values, **changes})  # type: ignore[arg-type]

    @cached_property
    def units(self) -> list[Unit]:
        """Every unit there can be."""
        single = list(itertools.product(self.places, range(len(self.pools))))
        several = (itertools.combinations_with_replacement(single, size + 1) for size in range(self.images))
        return [unit for each in several for unit in each]

    def pairs(self, relation: Relation) -> Iterator[tuple[Dataset, Dataset]]:
        """Every pair of neighbours, one of each two orders."""
        for size in self.sizes:
            for common in itertools.combinations_with_replacement(self.units, size):
                if relation == "add-remove":
                    yield from (((*common, unit), common) for unit in self.units)
                else:
                    yield from (
                        ((*common, a), (*common, b)) for a, b in itertools.combinations(self.units, 2)
                    )


def records_of(dataset: Dataset) -> PrivateEmbeddings:
    """A dataset as a selector gets it."""
    rows = [(place, target, unit) for unit, images in enumerate(dataset) for place, target in images]
    places, targets, units = (list(each) for each in zip(*rows, strict=True)) if rows else ([], [], [])
    return PrivateEmbeddings(
        np.array(places, dtype=np.float64).reshape(-1, 1),
        np.array(targets, dtype=np.int64),
        np.array(units, dtype=np.int64),
    )


@dataclass(frozen=True)
class Enumeration:
    """All a selector's draws are asked to hide, for every dataset of a world.

    Attributes:
        events: What pays for a round, one for each access of its own kind.
        middle: See ``Observer``.
        overstating: Rates are multiplied by it, and standard deviations divided: a selector whose sensitivity is
            understated by 30 % draws as if by 1 / 0.7.
    """

    world: World
    selector: Selector
    events: Events
    relation: Relation
    overstating: float = 1.0
    middle: float | None = None

    def exponential(self) -> tuple[float, float]:
        """Over all neighbours: the most that a log-probability differs, and the widest range of such differences.

        Draws go around the accesses that the event counts, and those of one access add up. Both are 0 where no pair
        of neighbours is measured at all.
        """
        observed, first, second = self._seen
        (event,) = self.events
        if not len(first):
            return 0.0, 0.0
        (keys,) = {tuple(key for key, *_ in asked) for asked in observed.values()}  # they are public
        assert not len(keys) % event.count, "the event counts another number of accesses"
        most, widest = np.zeros((2, event.count, len(first)))
        for draw in range(len(keys)):
            drawn = [asked[draw] for asked in observed.values()]
            logs = np.log(
                [exponential_probabilities(scores, rate * self.overstating) for _, scores, rate in drawn]
            )
            difference, row = logs[first] - logs[second], draw % event.count
            most[row] += np.abs(difference).max(axis=1)
            widest[row] += np.ptp(difference, axis=1)
        return float(most.max()), float(widest.max())

    def gaussian(self) -> list[float]:
        """Of each draw: the largest L2 distance of neighbours in units of sigma; its event allows 1 / z."""
        observed, first, second = self._seen
        largest = []
        for draws in zip(*observed.values(), strict=True):
            values, sigma = np.array([values.ravel() for _, values, _ in draws]), draws[0][2]
            assert all(each[2] == sigma for each in draws), "the noise depends on the data"
            distance = float(np.linalg.norm(values[first] - values[second], axis=1).max())
            largest.append(distance * self.overstating / sigma)
        return largest

    @property
    def _seen(self) -> Seen:
        return _seen(self.world, self.selector, self.events, self.relation, self.middle)


@cache
def _seen(world: World, selector: Selector, events: Events, relation: Relation, middle: float | None) -> Seen:
    """All that datasets' draws are asked to hide, and all pairs of neighbours as two columns of places among them.

    A dataset that is refused is in no pair.
    """
    scene, observed = world.scene(relation), {}
    pairs = list(world.pairs(relation))
    for dataset in dict.fromkeys(itertools.chain.from_iterable(pairs)):
        observer = Observer(middle=middle)
        try:
            selector.measure(records_of(dataset), scene, events, observer)  # type: ignore[arg-type]
        except DataError:
            assert not observer.asked, "something was drawn before the error"
            continue
        observed[dataset] = observer.asked
    place = {dataset: number for number, dataset in enumerate(observed)}
    kept = [(place[a], place[b]) for a, b in pairs if a in place and b in place]
    first, second = np.array(kept, dtype=np.int64).reshape(-1, 2).T
    return observed, first, second
