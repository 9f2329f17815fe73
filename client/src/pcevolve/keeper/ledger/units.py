"""Privacy units in three forms: as the owner has them, as keyed fingerprints, and as sorted arrays for comparison.

After ``Units.of``, nothing shows whom a fingerprint belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.store import SIZE, LedgerKey
from pcevolve.public.modality import SINGLE

COUNT = np.dtype("<u4")
IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint64]
"""First 64 bits of fingerprints, which stand in for complete fingerprints in comparisons.

Among a million images, two collide with a probability below 3e-8, and nobody without the ledger's key can
provoke a collision.
"""


@dataclass(frozen=True, repr=False)
class PrivateUnit:
    """One privacy unit as the owner has it; private.

    Attributes:
        images: Content digests of the unit's images, at least one.
        name: The owner's name of the unit, such as a patient's number; None for a unit of one image.
        namespace: Source of the name: equal names in two namespaces are two units. Images have no
            namespace.
    """

    images: tuple[bytes, ...]
    name: str | None = None
    namespace: str = ""


@dataclass(frozen=True, repr=False)
class Units:
    """The privacy units of one run as the ledger stores them: keyed 32-byte fingerprints, in canonical order.

    Attributes:
        images: Fingerprints of the images, unit by unit.
        sizes: Number of images of each unit, as 32-bit numbers; empty if every unit is one unnamed image.
        names: Fingerprints of the units' names; empty if every unit is one unnamed image.
    """

    images: bytes
    sizes: bytes = b""
    names: bytes = b""

    def __len__(self) -> int:
        """The number of privacy units; private."""
        return (len(self.names) if self.named else len(self.images)) // SIZE

    @property
    def named(self) -> bool:
        """True if the units have names; an unnamed unit is one image."""
        return bool(self.names)

    @property
    def image_count(self) -> int:
        return len(self.images) // SIZE

    @property
    def largest(self) -> int:
        """Number of images of the largest unit; private."""
        return int(np.frombuffer(self.sizes, COUNT).max()) if self.named else 1

    @classmethod
    def of(cls, key: LedgerKey, units: Sequence[PrivateUnit], kind: str) -> Self:
        """Fingerprint the units of a run.

        Args:
            units: Units with distinct names; if ``kind`` is ``"image"``, single unnamed images.
            kind: The kind of unit, which distinguishes a patient ``7`` from a device ``7``.

        Raises:
            DataError: The units are not as above, or share an image.
        """
        _check(units, kind)
        # Images and units are sorted: the order of files must reveal nothing, and must not matter to
        # recognition.
        images = [sorted(map(key.fingerprint, unit.images)) for unit in units]
        names = [
            key.name_fingerprint(kind, unit.name, unit.namespace) for unit in units if unit.name is not None
        ]
        _refuse_twins((each for unit in images for each in unit), "two privacy units share an image")
        _refuse_twins(names, "two privacy units have the same name")
        # Single images need no sizes and names; their fingerprints alone identify them.
        if not names:
            return cls(b"".join(sorted(each for unit in images for each in unit)))
        # By fingerprint, because sorting by name would reveal the patients' order.
        order = sorted(range(len(names)), key=names.__getitem__)
        sizes = np.array([len(images[unit]) for unit in order], COUNT)
        ordered = b"".join(each for unit in order for each in images[unit])
        return cls(ordered, sizes.tobytes(), b"".join(names[unit] for unit in order))


@dataclass(frozen=True, eq=False, repr=False)
class UnitPartition:
    """How a run divides its images into units.

    Attributes:
        images: uint64 ``(images,)``, ascending, distinct.
        units: int64 ``(images,)``, the unit of each, 0, 1, 2, ...
        names: uint64 ``(units,)``, ascending; empty if units are single unnamed images.
    """

    images: Numbers
    units: IntArray
    names: Numbers

    @classmethod
    def of(cls, units: Units) -> UnitPartition:
        """Read a run's units; they are numbered in canonical order."""
        images = _numbers(units.images)
        if not units.named:
            return cls(images, np.arange(len(images)), _numbers(b""))
        sizes = np.frombuffer(units.sizes, COUNT)
        order = np.argsort(images)
        return cls(images[order], np.repeat(np.arange(len(sizes)), sizes)[order], _numbers(units.names))

    @property
    def named(self) -> bool:
        """True if the run's units have names; if not, each unit is one image."""
        return len(self.names) > 0

    def list_bearing(self, images: Numbers) -> Numbers:
        """Return the names of units that contain one of these images, ascending; units must have names."""
        bears = np.zeros(len(self.names), dtype=bool)
        bears[self.units[among(self.images, images)]] = True
        return self.names[bears]


def _numbers(prints: bytes) -> Numbers:
    # Every fourth number: the first 64 bits of each fingerprint compare four times faster. See ``Numbers``
    # for collisions.
    return np.frombuffer(prints, ">u8")[:: SIZE // 8].astype(np.uint64)


@dataclass(frozen=True, eq=False, repr=False)
class RunUnits:
    """A run's units, for comparison with other runs' units.

    ``most`` is the declared maximum of images per unit; None if not declared.
    """

    run_id: str
    kind: str
    partition: UnitPartition
    most: int | None


def list_partitions(runs: Iterable[RunUnits]) -> list[UnitPartition]:
    return list({id(run.partition): run.partition for run in runs}.values())


def merge_numbers(ascending: Numbers, others: Numbers) -> Numbers:
    """Return the union of two sets of distinct numbers, ascending."""
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


def _check(units: Sequence[PrivateUnit], kind: str) -> None:
    if not units or not all(unit.images for unit in units):
        raise DataError("there is no privacy unit, or one of them has no images")
    single = kind in SINGLE
    # A single image identifies itself; a patient without a name could not be recognised in another run.
    if any((unit.name is None) != single for unit in units):
        fault = "unit names were given for single images" if single else "a privacy unit has no name"
        raise DataError(f"{fault}: give names for units of several images only")
    if single and any(len(unit.images) > 1 for unit in units):
        raise DataError(
            "a privacy unit of several images needs a name, and another word than 'image' for what it is"
        )


def _refuse_twins(prints: Iterable[bytes], fault: str) -> None:
    listed = list(prints)
    if len(set(listed)) < len(listed):
        raise DataError(f"{fault}: an image may belong to only one unit of a run")
