"""What a privacy unit bears of all runs, when runs cut the same images into different units.

**Subjects** are those whom runs promise something. A named unit's subject is the union of all units, of all runs in
the ledger, that bear its name: a patient is the same patient next month. An unnamed unit's subject is its image.

**Size.** When a subject changes, so does every unit of a run that it touches: a group, whose loss is that of
``Event.on_group``. Its size in a run is

- 1 where the only unit touched is the subject's own, the one that bears its name or is its image;
- else, in a run that cuts otherwise, the number of units touched. Under add-remove a unit that may also hold other
  images is not removed but changed, which is one removal and one addition and counts twice.

A neighbour may have more images than the subject has: a patient of one image is exchanged for one of five, or one of
five is added. So in a run that cuts otherwise the size is at least ``most`` images times the most that one of them
counts. An image is one image. For a patient, ``most`` is what the owner declared; without it, replace-one takes the
number of each patient's images for public (neighbours have as many), and add-remove cannot say anything. Under
replace-one an image that a neighbour lacks is one exchanged for nothing, which moves no sum and no utility by more than
an exchange for another image does.

**Whom a run concerns** (``Reach``): the subjects that share an image with one of its units, or bear the name of one.

Claim: if no subject was over its limit before a run, and the run pays only while all subjects that it concerns stay
within it, then no subject is over its limit after it. Proof, for both relations: what a subject bears is a sum over
all runs of the run's events on a group of the subject's size in that run, and that size depends on the subject's
images, its name and that run's units alone. Take a subject that the run does not concern. Its size in this run is 0,
so nothing is added for this run. Its images are the same as before, because only a run with its name could add one,
and such a run concerns it; so its sizes in all other runs are the same as before, and so is its sum. One step, from
this run's units to subjects and from these to all runs that touch them, therefore finds every sum that can have
grown. (A chain that goes on, to subjects that share a run but no image with the first, leads to sums in which this
run does not occur.) What a run that pays nothing shows is remembered too: that two images are of one patient may
reveal that he bore more than anybody knew, and later runs that concern him are refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import LedgerError
from pcevolve.ledger.keys import SIZE
from pcevolve.ledger.units import COUNT, IMAGE, Units
from pcevolve.privacy import Relation

IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint64]
"""First 64 bits of fingerprints, which stand for the whole: of a million images, two agree with a probability below
3e-8, and who has not the ledger's key can do nothing about it."""


@dataclass(frozen=True, eq=False, repr=False)
class Cut:
    """How a run cuts its images into units.

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
        """Whether units have names."""
        return len(self.names) > 0

    @property
    def bearers(self) -> Numbers:
        """The name of each image's unit, uint64 ``(images,)``; only where units have names."""
        return self.names[self.units]

    def bearing(self, images: Numbers) -> Numbers:
        """Names of the units that have one of these images, ascending; only where units have names."""
        found = np.zeros(len(self.names), dtype=bool)
        found[self.units[_in(self.images, images)]] = True
        return self.names[found]


def _numbers(prints: bytes) -> Numbers:
    return np.frombuffer(prints, ">u8")[:: SIZE // 8].astype(np.uint64)


@dataclass(frozen=True, eq=False, repr=False)
class Party:
    """A run as far as overlaps are concerned.

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


@dataclass(frozen=True)
class Exposure:
    """What a subject bears.

    Attributes:
        sizes: Run → size of the group of its units that change with the subject.
        kind: What the subject is: ``"image"``, ``"patient"``.
    """

    sizes: dict[str, int]
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class Reach:
    """The subjects that a run concerns: single images, then named ones, each kind in the order of its numbers.

    Attributes:
        singles: uint64 ``(single images,)``, ascending.
        names: uint64 ``(named subjects,)``, ascending.
        owners: int64 ``(pairs,)``, place in ``names`` of a subject that has the image beside it.
        owned: uint64 ``(pairs,)``, that image; each pair is there once.
        most: int64 ``(named subjects,)``, most images that the subject may have as declared; 0 if nobody did.
        kinds: What each named subject is.
    """

    singles: Numbers
    names: Numbers
    owners: IntArray
    owned: Numbers
    most: IntArray
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, mine: Party, promising: Sequence[Party], enrolled: Sequence[Party]) -> Reach:
        """Find the subjects.

        Args:
            mine: The run.
            promising: Other runs that have promised something: they paid for a release.
            enrolled: All other runs, which tell who else belongs to a name.
        """
        naming = [each for each in (*enrolled, mine) if each.cut.named]
        promises = _distinct((*promising, mine))
        own = mine.cut.images
        touched = mine.cut.names
        for cut in _distinct(naming):
            touched = _joined(touched, cut.bearing(own))
        names = touched[_in_any(touched, [cut.names for cut in promises])]
        owners, owned = _extents(names, naming)
        return cls(
            singles=own[_in_any(own, [cut.images for cut in promises if not cut.named])],
            names=names,
            owners=owners,
            owned=owned,
            most=_declared(names, mine, naming),
            kinds=_kinds(names, naming),
        )

    def touches(self, cut: Cut) -> bool:
        """Whether a run has an image of any subject here."""
        return bool(_in(self.singles, cut.images).any() or _in(self.owned, cut.images).any())

    def kind(self, subject: int) -> str:
        """What the subject at a place is."""
        return IMAGE if subject < len(self.singles) else self.kinds[subject - len(self.singles)]


def exposures(
    reach: Reach, runs: Sequence[Party], relation: Relation, done: Mapping[str, Hashable]
) -> list[Exposure]:
    """What the subjects bear, less those that another one is no better than.

    Args:
        reach: The subjects.
        runs: All runs that touch them and are to be counted.
        relation: Neighbour relation of all of them.
        done: By run id, what each did; runs that did the same may stand for each other in the result.

    Raises:
        LedgerError: How many images a subject may have must be declared, or is more than was declared.
    """
    of_cut = {
        id(cut): np.concatenate([_of_singles(reach, cut, relation), _of_named(reach, cut, relation)])
        for cut in _distinct(runs)
    }
    columns = [of_cut[id(run.cut)] for run in runs]
    if not columns or not len(columns[0]):
        return []
    sizes = _exchanged(np.stack(columns, axis=1).astype(np.int32), [done[run.run_id] for run in runs])
    table, first = np.unique(sizes, axis=0, return_index=True)
    return [
        Exposure(
            {run.run_id: int(size) for run, size in zip(runs, table[row], strict=True) if size},
            reach.kind(int(first[row])),
        )
        for row in _undominated(table)
    ]


def largest_group(most: int, named: bool, relation: Relation) -> int:
    """How many units of a run that cuts otherwise can change with a subject of at most ``most`` images.

    Args:
        most: Images that the subject or its neighbour may have.
        named: Whether the run's units have names; if not, each is one image and is removed with it.
        relation: Neighbour relation of the run.
    """
    return most * _changing(named, relation)


def _changing(named: bool, relation: Relation) -> int:
    """The most that one image of a subject counts in a run that cuts otherwise."""
    return 2 if named and relation == "add-remove" else 1


def _of_singles(reach: Reach, cut: Cut, relation: Relation) -> IntArray:
    """Size of every single image in a run."""
    return _in(reach.singles, cut.images) * largest_group(1, cut.named, relation)


def _of_named(reach: Reach, cut: Cut, relation: Relation) -> IntArray:
    """Size of every named subject in a run."""
    subject, unit, shared = _touched(reach, cut)
    total = len(reach.names)
    count = np.bincount(subject, minlength=total)
    own = cut.names[unit] == reach.names[subject] if cut.named else np.zeros(len(unit), dtype=bool)
    mixed = (count > 0) & ~((count == 1) & (np.bincount(subject, weights=own, minlength=total) == 1))
    _require_bounds(reach, count, mixed, relation)
    removed = (relation == "replace-one") | (shared == cut.sizes[unit])
    counted = np.bincount(subject, weights=np.where(removed, 1, 2), minlength=total).astype(np.int64)
    least = reach.most * _changing(cut.named, relation)
    return np.where(mixed, np.maximum(counted, least), count)


def _touched(reach: Reach, cut: Cut) -> tuple[IntArray, IntArray, IntArray]:
    """Every subject with every unit that it touches, and how many images they share."""
    place = np.minimum(np.searchsorted(cut.images, reach.owned), len(cut.images) - 1)
    there = cut.images[place] == reach.owned
    units = len(cut.sizes)
    pairs = np.sort(reach.owners[there] * units + cut.units[place[there]])
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    return pairs[first] // units, pairs[first] % units, np.diff(first, append=len(pairs))


def _require_bounds(reach: Reach, count: IntArray, mixed: NDArray[np.bool_], relation: Relation) -> None:
    undeclared = mixed & (reach.most == 0)
    if relation == "add-remove" and undeclared.any():
        kind = reach.kinds[int(np.argmax(undeclared))]
        raise LedgerError(
            f"runs on these data count one {kind} by its name and by other units too, and under add-remove a {kind} "
            f"may come or go with any number of images: say with --unit-size how many images one {kind} has at most"
        )
    over = mixed & (reach.most > 0) & (count > reach.most)
    if over.any():
        kind = reach.kinds[int(np.argmax(over))]
        raise LedgerError(
            f"a {kind} has more images in runs on these data than --unit-size, of this run or an earlier one, says: "
            f"begin this run with a larger --unit-size, which holds for every {kind}"
        )


def _extents(names: Numbers, naming: Iterable[Party]) -> tuple[IntArray, Numbers]:
    """The images of named subjects, as pairs of place and image, each once and by image.

    Runs on the same data bring the same pairs, which are recognised before anything is sorted.
    """
    owners, owned = np.empty(0, np.int64), np.empty(0, np.uint64)
    for cut in _distinct(naming):
        theirs, images = _owners(names, cut)
        new = ~(_in(images, owned) & _agree(owners, owned, theirs, images))
        if new.any():
            owned = np.concatenate([owned, images[new]])
            order = np.argsort(owned, kind="stable")
            owners, owned = np.concatenate([owners, theirs[new]])[order], owned[order]
    order = np.lexsort((owners, owned))
    owners, owned = owners[order], owned[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (owners[1:] != owners[:-1]) | (owned[1:] != owned[:-1])
    return owners[first], owned[first]


def _distinct(runs: Iterable[Party]) -> list[Cut]:
    """The cuts of some runs; one that several of them share is there once."""
    return list({id(run.cut): run.cut for run in runs}.values())


def _owners(names: Numbers, cut: Cut) -> tuple[IntArray, Numbers]:
    """The places of a run's units in ``names``, for each image whose unit is there, and these images, ascending."""
    there = _in(cut.names, names)[cut.units]
    return np.searchsorted(names, cut.names)[cut.units[there]], cut.images[there]


def _agree(owners: IntArray, owned: Numbers, theirs: IntArray, images: Numbers) -> NDArray[np.bool_]:
    """Whether the first of the known owners of each image is the one given."""
    if not len(owned):
        return np.zeros(len(images), dtype=bool)
    same: NDArray[np.bool_] = owners[np.minimum(np.searchsorted(owned, images), len(owned) - 1)] == theirs
    return same


def _declared(names: Numbers, mine: Party, naming: Iterable[Party]) -> IntArray:
    """The most images of each named subject, by the runs that name it and by this run.

    A run on units of another name says how many images *its* units have, so its word is taken only where there is no
    better.
    """
    most = np.zeros(len(names), np.int64)
    for each in naming:
        theirs = _in(names, each.cut.names)
        most[theirs] = np.maximum(most[theirs], each.most or 0)
    said = mine.most or 0
    return np.where(most == 0, said, most) if mine.cut.named else np.maximum(most, said)


def _kinds(names: Numbers, naming: Iterable[Party]) -> tuple[str, ...]:
    found = np.full(len(names), "", dtype=object)
    for each in naming:
        found[_in(names, each.cut.names)] = each.kind
    return tuple(found.tolist())


def _exchanged(sizes: NDArray[np.int32], done: Sequence[Hashable]) -> NDArray[np.int32]:
    """Subjects × runs with the sizes in descending order among runs that did the same: far fewer rows differ."""
    for each in set(done):
        alike = [column for column, other in enumerate(done) if other == each]
        sizes[:, alike] = -np.sort(-sizes[:, alike], axis=1)
    return sizes


def _undominated(table: NDArray[np.int32]) -> list[int]:
    """Rows of which no other is at least as large everywhere; the rows are distinct."""
    kept: list[int] = []
    for row in np.argsort(-table.sum(axis=1), kind="stable").tolist():
        if not (table[kept] >= table[row]).all(axis=1).any():
            kept.append(row)
    return kept


def _joined(ascending: Numbers, others: Numbers) -> Numbers:
    """All that is in either, ascending; both have nothing twice."""
    new = ~_in(others, ascending)
    return np.sort(np.concatenate([ascending, others[new]])) if new.any() else ascending


def _in(these: Numbers, ascending: Numbers) -> NDArray[np.bool_]:
    """Which of these are among the others."""
    if not len(ascending):
        return np.zeros(len(these), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, these), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == these
    return found


def _in_any(these: Numbers, others: Iterable[Numbers]) -> NDArray[np.bool_]:
    found = np.zeros(len(these), dtype=bool)
    for each in others:
        found |= _in(these, each)
    return found
