"""Draw a subsample of the private folder: exactly K privacy units of each class, by a secret seed; opens no image.

Two facts about each unit determine the subsample. Both depend on the unit alone, never on other units:

- *its class*, for which the unit counts. A unit with images of several classes counts for one of them,
  chosen by a public hash of its name. The seed does not affect the class, so whether a subsample is
  possible does not depend on the seed;
- *its turn*, a keyed hash of the unit's name under the secret seed.

The K units of each class with the first turns are drawn, each with all its images of that class. A drawn
unit's images of other classes are left out. Each class therefore has exactly K units, and no unit is drawn
twice.

**Claim.** Consider two folders that have at least K units of each class. If the folders differ by one added
or removed unit, their subsamples under one seed are equal, or differ by one unit that is replaced by
another of the same class. If the folders differ by one replaced unit, whatever its name, images and
classes, at most two units of the subsample are replaced.

Proof. If the removed unit was not drawn, the first K units of its class stay the same, and no other class
is affected. If it was drawn, unit number K + 1 of its class takes its place, and all other units keep class
and turn. A replacement is one removal and one addition, in one class or in two. ∎

``dp.calibration.DRAWN_UNITS`` is the number of units of the subsample that change with one unit of the
folder, under either relation. Under add-remove, one replacement is two changes: one unit is removed, and
one is added. Under replace-one, two replacements are two changes. The number cannot be lower, because
folders with K + 1 units of different turns attain it.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from pcevolve.errors import DataError

SEED_BYTES = 8


def draw_places(
    units: Sequence[str], targets: Sequence[int], count: int, seed: int
) -> tuple[list[int], list[int]]:
    """Return the indices of drawn items, and of items whose units are not drawn, both in order; see ``draw``."""
    # Checked for all classes before the draw: if success depended on the seed, the owner could draw until it
    # suits.
    if min(count_drawable(units, targets).values()) < count:
        raise DataError(
            "a class has fewer units than data.subsample draws; nothing was spent or sent: give a "
            "smaller number, or leave data.subsample out"
        )
    of_class: dict[int, list[str]] = {}
    for unit, target in assign_classes(units, targets).items():
        of_class.setdefault(target, []).append(unit)
    drawn = {
        unit: target
        for target, each in of_class.items()
        # Sorted by turn, then by name, so that the order is unique even if turns are equal.
        for unit in sorted(each, key=lambda unit: (_turn(unit, seed), unit))[:count]
    }
    places = list(enumerate(zip(units, targets, strict=True)))
    return (
        [place for place, (unit, target) in places if drawn.get(unit) == target],
        [place for place, (unit, _) in places if unit not in drawn],
    )


def assign_classes(units: Sequence[str], targets: Sequence[int]) -> Mapping[str, int]:
    """Return the one class that each unit counts for; it depends on the unit's name and classes alone."""
    found: dict[str, set[int]] = {}
    for unit, target in zip(units, targets, strict=True):
        found.setdefault(unit, set()).add(target)
    return {unit: min(each, key=lambda target: _preference(unit, target)) for unit, each in found.items()}


def count_drawable(units: Sequence[str], targets: Sequence[int]) -> Mapping[int, int]:
    """Return how many units of each class can be drawn, if a unit counts for one class; private."""
    counts = Counter(assign_classes(units, targets).values())
    return {target: counts[target] for target in sorted(set(targets))}


def _preference(unit: str, target: int) -> bytes:
    """Return a class's rank within a unit: 32 bytes of a public hash, so that no class is favoured."""
    return hashlib.sha256(f"{target}/".encode() + _spell(unit)).digest()


def _turn(unit: str, seed: int) -> bytes:
    """Return a unit's rank by seed and name: 32 bytes, uniform for anyone who does not know the seed."""
    return hmac.digest(seed.to_bytes(SEED_BYTES, "big"), _spell(unit), "sha256")


def _spell(unit: str) -> bytes:
    """Return the bytes of a unit's name, in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", unit).encode("utf-8", "surrogateescape")
