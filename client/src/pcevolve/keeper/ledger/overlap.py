"""The events of all runs on a privacy unit, when runs divide the same images into different units.

**Subjects** are the people or images to whom runs make a promise. The subject of a named unit is the union
of all units with that name in all runs of the ledger, because a patient is the same patient next month. The
subject of an unnamed unit is its image.

**Size.** When a subject changes, every unit of a run that contains one of its images changes too. These
units are a group, whose loss is that of ``Event.on_group``. The group's size in a run is

- 1 if the only such unit is the subject's own, which has its name or is its image;
- otherwise, in a run that divides the images differently, ``most`` times the number of changes per image.
  ``most`` is the largest number of images that the subject may have. A neighbouring dataset
  may have more images of the subject than this one: a patient with one image is replaced by one with five,
  or a patient with five is added. An image is one change. Under add-remove, in a run whose units have names,
  it is two changes. Such a unit may contain other images, so it is not removed but changed, which is one
  removal and one addition.

For an image, ``most`` is 1. For a patient, it is the number that the owner declared, and no fewer than the
units that share the patient's images. If nobody declared a number,

- replace-one treats the number of each patient's images as public, so that the size is the number of these
  units;
- add-remove has no bound, and the run is refused.

Under replace-one, an image that a neighbouring dataset lacks is replaced by nothing. That changes each sum
and each utility by no more than a replacement by another image.

**Affected subjects** (``Overlap``): a run affects the subjects that share an image with one of its units,
or have the name of one.

**Claim.** Suppose that no subject was over its limit before a run, and that the run pays only while all
subjects that it affects stay within their limits. Then no subject is over its limit after the run.

Proof, for both relations. A subject's total is a sum over all runs. Each term is the run's events on a
group of the subject's size in that run. That size depends only on the subject's images, its name and that
run's units. Take a subject that the run does not affect.

1. Its size in this run is 0, so this run adds nothing.
2. Its images are the same as before: only a run with its name could add one, and such a run affects it.
3. Therefore its sizes in all other runs are the same as before, and so is its total.

One step therefore finds every total that can have grown: from this run's units to subjects, and from these
to all runs that share their images. A longer chain would lead to subjects that share a run but no image
with the first ones; this run does not occur in their totals. ∎

A run that pays nothing is remembered too. It may show that two images are of one patient, whose total was
then larger than anybody knew. Later runs that affect this patient are refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.units import (
    IntArray,
    Numbers,
    RunUnits,
    UnitPartition,
    among,
    among_any,
    list_partitions,
    merge_numbers,
)
from pcevolve.public.privacy import Relation
from pcevolve.public.words import IMAGE


@dataclass(frozen=True)
class Exposure:
    """For one subject, the number of units of each run that change with it."""

    sizes: dict[str, int]
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class Overlap:
    """The subjects that a run affects: single images first, then named subjects, each in numeric order.

    Attributes:
        singles: uint64 ``(single images,)``, ascending.
        names: uint64 ``(named subjects,)``, ascending.
        owners: int64 ``(pairs,)``, for each image in ``owned`` the index in ``names`` of a subject that has
            it.
        owned: uint64 ``(pairs,)``, the image of each pair; no pair appears twice.
        most: int64 ``(named subjects,)``, largest number of images of the subject, as declared; 0 if not
            declared.
        kinds: The kind of each named subject.
    """

    singles: Numbers
    names: Numbers
    owners: IntArray
    owned: Numbers
    most: IntArray
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, mine: RunUnits, promising: Sequence[RunUnits], enrolled: Sequence[RunUnits]) -> Overlap:
        """Find the subjects.

        Args:
            promising: Other runs that made a promise, because they paid for a release.
            enrolled: All other runs, which may link further images to a name.
        """
        naming = [each for each in (*enrolled, mine) if each.partition.named]
        promises = list_partitions((*promising, mine))
        own = mine.partition.images
        touched = mine.partition.names
        for partition in list_partitions(naming):
            touched = merge_numbers(touched, partition.list_bearing(own))
        names = touched[among_any(touched, [partition.names for partition in promises])]
        owners, owned = _extents(names, naming)
        return cls(
            # Only subjects to whom a counted run made a promise, because no others have a limit.
            singles=own[among_any(own, [partition.images for partition in promises if not partition.named])],
            names=names,
            owners=owners,
            owned=owned,
            most=_most_declared(names, mine, naming),
            kinds=_kinds(names, naming),
        )

    def touches(self, partition: UnitPartition) -> bool:
        """True if a run contains an image of any of these subjects."""
        return bool(among(self.singles, partition.images).any() or among(self.owned, partition.images).any())

    def kind(self, subject: int) -> str:
        """Return the kind of a subject, by its index among all subjects: ``"image"``, or the word for its units."""
        return IMAGE if subject < len(self.singles) else self.kinds[subject - len(self.singles)]


def compute_exposures(
    overlap: Overlap, runs: Sequence[RunUnits], relation: Relation, done: Mapping[str, Hashable]
) -> list[Exposure]:
    """Compute how many units of each run change with each subject, without dominated subjects.

    Args:
        runs: All counted runs that share images with the subjects, under one neighbour relation.
        done: Each run's events, by run id; runs with equal events may be exchanged in the result.

    Raises:
        LedgerError: The number of images of a subject must be declared, or exceeds the declared number.
    """
    # Once per partition, because hundreds of runs on one folder share one.
    of_partition = {
        id(partition): np.concatenate(
            [_of_singles(overlap, partition, relation), _of_named(overlap, partition, relation)]
        )
        for partition in list_partitions(runs)
    }
    columns = [of_partition[id(run.partition)] for run in runs]
    # No run shares a subject, or no promise was made to any subject.
    if not columns or not len(columns[0]):
        return []
    # Runs with equal events are interchangeable. Sorting their columns makes most of a million rows equal,
    # and ε is computed for one row of each kind.
    sizes = _exchange(np.stack(columns, axis=1), [done[run.run_id] for run in runs])
    # One subject per distinct row is enough, because equal rows have equal sums.
    table, first = np.unique(sizes, axis=0, return_index=True)
    return [
        Exposure(
            {run.run_id: int(size) for run, size in zip(runs, table[row], strict=True) if size},
            overlap.kind(int(first[row])),
        )
        for row in _drop_dominated(table)
    ]


def bound_group(most: int, named: bool, relation: Relation) -> int:
    """Bound the units of another partition that can change with a subject.

    Args:
        most: Largest number of images of the subject or its neighbour.
        named: Whether the run's units have names; if not, each unit is one image and is removed with it.
    """
    return most * _most_changed(named, relation)


def _most_changed(named: bool, relation: Relation) -> int:
    # A named unit may contain other images, so it is changed, not removed: one removal and one addition.
    return 2 if named and relation == "add-remove" else 1


def _of_singles(overlap: Overlap, partition: UnitPartition, relation: Relation) -> IntArray:
    return among(overlap.singles, partition.images) * bound_group(1, partition.named, relation)


def _of_named(overlap: Overlap, partition: UnitPartition, relation: Relation) -> IntArray:
    subject, unit = _find_touched(overlap, partition)
    total = len(overlap.names)
    # Shared units of the other run, each counted once, however many images it shares.
    count = np.bincount(subject, minlength=total)
    own = (
        partition.names[unit] == overlap.names[subject]
        if partition.named
        else np.zeros(len(unit), dtype=bool)
    )
    # Not mixed: exactly one unit is shared, and it has the subject's name, so that run counts the subject as
    # we do.
    mixed = (count > 0) & ~((count == 1) & (np.bincount(subject, weights=own, minlength=total) == 1))
    _require_bounds(overlap, count, mixed, relation)
    declared = overlap.most * _most_changed(partition.named, relation)
    return np.where(mixed & (overlap.most > 0), declared, count)


def _find_touched(overlap: Overlap, partition: UnitPartition) -> tuple[IntArray, IntArray]:
    """Return pairs of a subject and a unit that contains one of its images, by their indices."""
    found_at = np.minimum(np.searchsorted(partition.images, overlap.owned), len(partition.images) - 1)
    there = partition.images[found_at] == overlap.owned
    units = len(partition.images)  # at most one unit per image, so every pair has its own number
    pairs = np.unique(overlap.owners[there] * units + partition.units[found_at[there]])
    return pairs // units, pairs % units


def _require_bounds(overlap: Overlap, count: IntArray, mixed: NDArray[np.bool_], relation: Relation) -> None:
    undeclared = mixed & (overlap.most == 0)
    # Under replace-one a subject keeps its number of images, so no other units can change.
    if relation == "add-remove" and undeclared.any():
        kind = overlap.kinds[int(np.argmax(undeclared))]
        raise LedgerError(
            f"some runs on these data identify a {kind} by name and others count other units. Under "
            f"add-remove, a {kind} may be added with any number of images: set data.unit_size to the "
            f"largest number of images of one {kind}"
        )
    over = mixed & (overlap.most > 0) & (count > overlap.most)
    # The declared number was too small, so sums that used it would be wrong.
    if over.any():
        kind = overlap.kinds[int(np.argmax(over))]
        raise LedgerError(
            f"a {kind} has more images in the runs on these data than the data.unit_size of this or an earlier run "
            f"allows: begin this run with a larger data.unit_size; it applies to every {kind}"
        )


def _extents(names: Numbers, naming: Iterable[RunUnits]) -> tuple[IntArray, Numbers]:
    """Return distinct pairs of a named subject's index and one of its images, in the order of images."""
    owners, owned = np.empty(0, np.int64), np.empty(0, np.uint64)
    for partition in list_partitions(naming):
        theirs, images = _owners(names, partition)
        # Runs on the same data repeat pairs; these are dropped before anything is sorted.
        new = ~(among(images, owned) & _agree(owners, owned, theirs, images))
        if new.any():
            owned = np.concatenate([owned, images[new]])
            # A stable sort keeps an image's first owner first, which ``_agree`` compares.
            order = np.argsort(owned, kind="stable")
            owners, owned = np.concatenate([owners, theirs[new]])[order], owned[order]
    # By image first, so that equal pairs are adjacent and can be dropped.
    order = np.lexsort((owners, owned))
    owners, owned = owners[order], owned[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (owners[1:] != owners[:-1]) | (owned[1:] != owned[:-1])
    return owners[first], owned[first]


def _owners(names: Numbers, partition: UnitPartition) -> tuple[IntArray, Numbers]:
    """Return the index in ``names`` of each image's unit, and these images, ascending; other images are left out."""
    there = among(partition.names, names)[partition.units]
    return np.searchsorted(names, partition.names)[partition.units[there]], partition.images[there]


def _agree(owners: IntArray, owned: Numbers, theirs: IntArray, images: Numbers) -> NDArray[np.bool_]:
    """True where the first known owner of an image is the given one."""
    if not len(owned):
        return np.zeros(len(images), dtype=bool)
    same: NDArray[np.bool_] = owners[np.minimum(np.searchsorted(owned, images), len(owned) - 1)] == theirs
    return same


def _most_declared(names: Numbers, mine: RunUnits, naming: Iterable[RunUnits]) -> IntArray:
    """Return the largest declared number of images of each named subject.

    Runs that name the subject declare the number. This run's declaration is about units of another name, so
    it is used only if there is no other.
    """
    most = np.zeros(len(names), np.int64)
    for each in naming:
        theirs = among(names, each.partition.names)
        most[theirs] = np.maximum(most[theirs], each.most or 0)
    declared = mine.most or 0
    # A run with the same kind of unit is the better source; this run's declaration only replaces a missing
    # one.
    return np.where(most == 0, declared, most) if mine.partition.named else np.maximum(most, declared)


def _kinds(names: Numbers, naming: Iterable[RunUnits]) -> tuple[str, ...]:
    kinds = np.full(len(names), "", dtype=object)
    for each in naming:
        kinds[among(names, each.partition.names)] = each.kind
    return tuple(kinds.tolist())


def _exchange(sizes: IntArray, done: Sequence[Hashable]) -> IntArray:
    """Sort each subject's sizes in descending order among runs with equal events, so that far fewer rows differ."""
    for each in set(done):
        alike = [column for column, other in enumerate(done) if other == each]
        sizes[:, alike] = -np.sort(-sizes[:, alike], axis=1)
    return sizes


def _drop_dominated(table: IntArray) -> list[int]:
    """Return the indices of rows that no other row dominates.

    A row dominates another if it is at least as large in every column. The rows must be distinct.
    """
    kept: list[int] = []
    # In descending order of sums, because only a row with a sum at least as large can dominate.
    for row in np.argsort(-table.sum(axis=1), kind="stable").tolist():
        if not (table[kept] >= table[row]).all(axis=1).any():
            kept.append(row)
    return kept
