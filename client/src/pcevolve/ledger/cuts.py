"""Partitions of images into privacy units, as sorted arrays of numbers that are quick to compare.

Only fingerprints made with the ledger's key are seen here; who a number stands for is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.ledger.keys import SIZE
from pcevolve.ledger.units import COUNT, Units

IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint64]
"""First 64 bits of fingerprints, which stand for the whole: of a million images, two agree with a probability below
3e-8, and who has not the ledger's key can do nothing about it."""


@dataclass(frozen=True, eq=False, repr=False)
class Cut:
    """The way in which a run cuts its images into units.

    Attributes:
        images: uint64 ``(images,)``, ascending, none twice.
        units: int64 ``(images,)``, the unit of each, 0, 1, 2, ...
        names: uint64 ``(units,)``, ascending; empty where units are single images without names.
        sizes: int64 ``(units,)``, how many images each unit has.
    """

    images: Numbers
    units: IntArray
    names: Numbers
    sizes: IntArray

    @classmethod
    def of(cls, units: Units) -> Cut:
        """Read a run's units, whose canonical order is that of their numbers."""
        images = _numbers(units.images)
        if not units.named:
            return cls(images, np.arange(len(images)), _numbers(b""), np.ones(len(images), np.int64))
        sizes = np.frombuffer(units.sizes, COUNT).astype(np.int64)
        order = np.argsort(images)
        return cls(
            images[order], np.repeat(np.arange(len(sizes)), sizes)[order], _numbers(units.names), sizes
        )

    @property
    def named(self) -> bool:
        """True if the run's units have names; if not, each unit is one image."""
        return len(self.names) > 0

    def list_bearing(self, images: Numbers) -> Numbers:
        """Names of the units that have one of these images, ascending; only where units have names."""
        bears = np.zeros(len(self.names), dtype=bool)
        bears[self.units[among(self.images, images)]] = True
        return self.names[bears]


def _numbers(prints: bytes) -> Numbers:
    return np.frombuffer(prints, ">u8")[:: SIZE // 8].astype(np.uint64)


@dataclass(frozen=True, eq=False, repr=False)
class Party:
    """A run's units, as they are compared with those of other runs.

    Attributes:
        run_id: Which one.
        kind: What it calls a unit.
        cut: Its units.
        most: Most images that one of its units may have, as its owner declared; None if he did not.
    """

    run_id: str
    kind: str
    cut: Cut
    most: int | None


def distinct_cuts(runs: Iterable[Party]) -> list[Cut]:
    """The cuts of some runs; one that several runs share is there once."""
    return list({id(run.cut): run.cut for run in runs}.values())


def merged_numbers(ascending: Numbers, others: Numbers) -> Numbers:
    """All numbers that are in either set, ascending; neither set has one twice."""
    new = ~among(others, ascending)
    return np.sort(np.concatenate([ascending, others[new]])) if new.any() else ascending


def among(these: Numbers, ascending: Numbers) -> NDArray[np.bool_]:
    """Mark the numbers that are also in the other set, which is ascending."""
    if not len(ascending):
        return np.zeros(len(these), dtype=bool)
    nearest = np.minimum(np.searchsorted(ascending, these), len(ascending) - 1)
    there: NDArray[np.bool_] = ascending[nearest] == these
    return there


def among_any(these: Numbers, others: Iterable[Numbers]) -> NDArray[np.bool_]:
    """Mark the numbers that are in at least one of the other sets, each of which is ascending."""
    there = np.zeros(len(these), dtype=bool)
    for each in others:
        there |= among(these, each)
    return there
