"""Events that a privacy unit bears over all runs, when runs partition the same images into different units.

**Subjects** are those to whom runs promise something. A named unit's subject is the union of all units of that name in
all runs of the ledger: a patient is the same patient next month. An unnamed unit's subject is its image.

**Size.** When a subject changes, every unit of a run that it touches changes too. They are a group, whose loss is that
of ``Event.on_group``. The group's size in a run is

- 1 where the only unit touched is the subject's own: the one that bears its name or is its image;
- else, in a run that cuts otherwise, ``most`` times the most that one image counts. ``most`` is how many images the
  subject may have, because a neighbour may have more than the subject has: a patient of one image is exchanged for one
  of five, or one of five is added. One image counts once; twice under add-remove in a run whose units have names,
  because a unit that may also hold other images is not removed but changed, by one removal and one addition.

For an image, ``most`` is 1. For a patient, it is what the owner declared, and no fewer than the units touched. Where
nobody declared it,

- replace-one takes the number of each patient's images for public, so that the size is the number of units touched;
- add-remove cannot say anything, and the run is refused.

Under replace-one an image that a neighbour lacks is one exchanged for nothing. That moves no sum and no utility by more
than an exchange for another image does.

**Whom a run concerns** (``Overlap``): the subjects that share an image with one of its units, or bear the name of one.

**Claim.** Suppose that no subject was over its limit before a run, and that the run pays only while all subjects that
it concerns stay within it. Then no subject is over its limit after the run.

Proof, for both relations. What a subject bears is a sum over all runs. Each term is the run's events on a group of the
subject's size in that run, and that size depends on the subject's images, its name and that run's units alone. Take a
subject that the run does not concern.

1. Its size in this run is 0, so nothing is added for this run.
2. Its images are the same as before: only a run with its name could add one, and such a run concerns it.
3. So its sizes in all other runs are the same as before, and so is its sum.

One step, from this run's units to subjects and from these to all runs that touch them, therefore finds every sum that
can have grown. A chain that goes on leads to subjects that share a run but no image with the first; this run does not
occur in their sums. ∎

What a run that pays nothing shows is remembered too. That two images are of one patient may reveal that the patient
bore more than anybody knew, and then later runs that concern this patient are refused.
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
    """The sizes of the groups of units that change with one subject, by run."""

    sizes: dict[str, int]
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class Overlap:
    """The subjects that a run concerns: single images, then named ones, each kind in numeric order.

    Attributes:
        singles: uint64 ``(single images,)``, ascending.
        names: uint64 ``(named subjects,)``, ascending.
        owners: int64 ``(pairs,)``, index in ``names`` of a subject that has the image in ``owned``.
        owned: uint64 ``(pairs,)``, the image of each pair; no pair appears twice.
        most: int64 ``(named subjects,)``, most images of the subject, as declared; 0 if not declared.
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
            promising: Other runs that have promised something: they paid for a release.
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
            # Only subjects to whom a counted run has promised something: no others have a limit.
            singles=own[among_any(own, [partition.images for partition in promises if not partition.named])],
            names=names,
            owners=owners,
            owned=owned,
            most=_most_declared(names, mine, naming),
            kinds=_kinds(names, naming),
        )

    def touches(self, partition: UnitPartition) -> bool:
        """True if a run has an image of any subject here."""
        return bool(among(self.singles, partition.images).any() or among(self.owned, partition.images).any())

    def kind(self, subject: int) -> str:
        """Return the kind of a subject, by its index among all: ``"image"``, or the word for its units."""
        return IMAGE if subject < len(self.singles) else self.kinds[subject - len(self.singles)]


def compute_exposures(
    overlap: Overlap, runs: Sequence[RunUnits], relation: Relation, done: Mapping[str, Hashable]
) -> list[Exposure]:
    """Compute the sizes of groups that change with each subject, without dominated subjects.

    Args:
        runs: All counted runs that touch them, under one neighbour relation.
        done: By run id, its events; runs with equal events may swap places in the result.

    Raises:
        LedgerError: The number of images of a subject must be declared, or exceeds the declared one.
    """
    # Once for each partition: hundreds of runs on one folder share one.
    of_partition = {
        id(partition): np.concatenate(
            [_of_singles(overlap, partition, relation), _of_named(overlap, partition, relation)]
        )
        for partition in list_partitions(runs)
    }
    columns = [of_partition[id(run.partition)] for run in runs]
    # No run touches a subject, or there is no subject to which anything was promised.
    if not columns or not len(columns[0]):
        return []
    # Runs with equal events are exchangeable, so sorting their columns makes most of a million rows equal,
    # and one of each is priced.
    sizes = _exchange(np.stack(columns, axis=1), [done[run.run_id] for run in runs])
    # One subject of each kind of row is enough: equal rows have equal sums.
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
        most: Images that the subject or its neighbour may have.
        named: Whether the run's units have names; if not, each is one image and is removed with it.
    """
    return most * _most_changed(named, relation)


def _most_changed(named: bool, relation: Relation) -> int:
    # A named unit may hold other images: it is not removed but changed, which is one removal and one
    # addition.
    return 2 if named and relation == "add-remove" else 1


def _of_singles(overlap: Overlap, partition: UnitPartition, relation: Relation) -> IntArray:
    return among(overlap.singles, partition.images) * bound_group(1, partition.named, relation)


def _of_named(overlap: Overlap, partition: UnitPartition, relation: Relation) -> IntArray:
    subject, unit = _find_touched(overlap, partition)
    total = len(overlap.names)
    # Touched units of the other run, each counted once, however many images it shares.
    count = np.bincount(subject, minlength=total)
    own = (
        partition.names[unit] == overlap.names[subject]
        if partition.named
        else np.zeros(len(unit), dtype=bool)
    )
    # Not mixed means that exactly one unit is touched, and it bears the subject's name: the run then counts
    # the subject as we do.
    mixed = (count > 0) & ~((count == 1) & (np.bincount(subject, weights=own, minlength=total) == 1))
    _require_bounds(overlap, count, mixed, relation)
    declared = overlap.most * _most_changed(partition.named, relation)
    return np.where(mixed & (overlap.most > 0), declared, count)


def _find_touched(overlap: Overlap, partition: UnitPartition) -> tuple[IntArray, IntArray]:
    """Return every subject with every unit that it touches."""
    found_at = np.minimum(np.searchsorted(partition.images, overlap.owned), len(partition.images) - 1)
    there = partition.images[found_at] == overlap.owned
    units = len(partition.images)  # no more than images, so that every pair has a number of its own
    pairs = np.unique(overlap.owners[there] * units + partition.units[found_at[there]])
    return pairs // units, pairs % units


def _require_bounds(overlap: Overlap, count: IntArray, mixed: NDArray[np.bool_], relation: Relation) -> None:
    undeclared = mixed & (overlap.most == 0)
    # Under replace-one a subject keeps its images, so the touched units are all that can change.
    if relation == "add-remove" and undeclared.any():
        kind = overlap.kinds[int(np.argmax(undeclared))]
        raise LedgerError(
            f"runs on these data count one {kind} by its name and by other units too, and under add-remove a {kind} "
            f"may come or go with any number of images: say with data.unit_size how many images one {kind} has at most"
        )
    over = mixed & (overlap.most > 0) & (count > overlap.most)
    # The declaration was too small, so a sum that was computed with it would be wrong.
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
        # Runs on the same data bring the same pairs, which are recognised before anything is sorted.
        new = ~(among(images, owned) & _agree(owners, owned, theirs, images))
        if new.any():
            owned = np.concatenate([owned, images[new]])
            # Stable, so that an image's first owner stays first, which ``_agree`` compares.
            order = np.argsort(owned, kind="stable")
            owners, owned = np.concatenate([owners, theirs[new]])[order], owned[order]
    # By image first, so that equal pairs are neighbours and can be dropped.
    order = np.lexsort((owners, owned))
    owners, owned = owners[order], owned[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (owners[1:] != owners[:-1]) | (owned[1:] != owned[:-1])
    return owners[first], owned[first]


def _owners(names: Numbers, partition: UnitPartition) -> tuple[IntArray, Numbers]:
    """Return the index in ``names`` of each image's unit, and these images, ascending; others are left out."""
    there = among(partition.names, names)[partition.units]
    return np.searchsorted(names, partition.names)[partition.units[there]], partition.images[there]


def _agree(owners: IntArray, owned: Numbers, theirs: IntArray, images: Numbers) -> NDArray[np.bool_]:
    """True where the first known owner of an image is the given one."""
    if not len(owned):
        return np.zeros(len(images), dtype=bool)
    same: NDArray[np.bool_] = owners[np.minimum(np.searchsorted(owned, images), len(owned) - 1)] == theirs
    return same


def _most_declared(names: Numbers, mine: RunUnits, naming: Iterable[RunUnits]) -> IntArray:
    """Return the most images of each named subject, by the runs that name it and by this run.

    A run on units of another name declares the images of *its* units, so it is used only without a better
    declaration.
    """
    most = np.zeros(len(names), np.int64)
    for each in naming:
        theirs = among(names, each.partition.names)
        most[theirs] = np.maximum(most[theirs], each.most or 0)
    declared = mine.most or 0
    # A run on the same kind of unit knows best; only where nobody names the subject does another declaration
    # stand in.
    return np.where(most == 0, declared, most) if mine.partition.named else np.maximum(most, declared)


def _kinds(names: Numbers, naming: Iterable[RunUnits]) -> tuple[str, ...]:
    kinds = np.full(len(names), "", dtype=object)
    for each in naming:
        kinds[among(names, each.partition.names)] = each.kind
    return tuple(kinds.tolist())


def _exchange(sizes: IntArray, done: Sequence[Hashable]) -> IntArray:
    """Sort the sizes of each subject in descending order among runs with equal events: far fewer rows differ."""
    for each in set(done):
        alike = [column for column, other in enumerate(done) if other == each]
        sizes[:, alike] = -np.sort(-sizes[:, alike], axis=1)
    return sizes


def _drop_dominated(table: IntArray) -> list[int]:
    """Return the rows that no other row dominates (is at least as large in every column); rows are distinct."""
    kept: list[int] = []
    # The largest sums first: a row can only be dominated by one with a sum at least as large.
    for row in np.argsort(-table.sum(axis=1), kind="stable").tolist():
        if not (table[kept] >= table[row]).all(axis=1).any():
            kept.append(row)
    return kept
