"""A draw of privacy units out of a private folder: who may be drawn, what it depends on, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pcevolve.errors import DataError
from pcevolve.keeper.private.listing import Listing, UnitMap
from pcevolve.keeper.private.subsample import count_drawable, draw_places

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=60)
"""The unit of each image, and its class."""
SEEDS = st.integers(0, 2**63 - 1)

Drawn = frozenset[tuple[str, int]]
"""Units that were drawn, each with the class that it was drawn for."""
Folder = tuple[int, ...]
"""The classes that each of some units has images of, as bits; 0 for a unit that is not there."""


def listing(pairs: list[tuple[int, int]]) -> tuple[Listing, list[str]]:
    files = tuple(Path("/p") / f"{target}" / f"{place}.png" for place, (_, target) in enumerate(pairs))
    units = [f"unit {unit}" for unit, _ in pairs]
    whole = Listing(Path("/p"), ("a", "b", "c"), files, tuple(target for _, target in pairs))
    return replace(whole, units=UnitMap("patient", dict(zip(whole.names, units, strict=True)))), units


def units_of(part: Listing, whole: Listing, units: list[str]) -> set[tuple[str, int]]:
    """Units and classes in a part."""
    unit = dict(zip(whole.files, units, strict=True))
    return {(unit[file], target) for file, target in zip(part.files, part.targets, strict=True)}


@given(pairs=PAIRS, count=st.integers(1, 3), seed=SEEDS)
def test_each_class_gets_exactly_so_many_units_nobody_twice_and_who_is_used_is_not_measured_on(
    pairs, count, seed
):
    whole, units = listing(pairs)
    assume(min(count_drawable(units, whole.targets).values()) >= count)
    used, rest = whole.draw(count, seed)
    drawn = units_of(used, whole, units)
    there = {target for _, target in pairs}
    assert [sum(each == target for _, each in drawn) for target in there] == [count] * len(there)
    assert len({unit for unit, _ in drawn}) == count * len(there)
    assert len(used.files) == sum((unit, each) in drawn for unit, (_, each) in zip(units, pairs, strict=True))
    left = [file for file, unit in zip(whole.files, units, strict=True) if unit not in dict(drawn)]
    assert list(rest.files) == left


@given(pairs=PAIRS, count=st.integers(1, 3), seed=SEEDS)
def test_a_draw_that_would_not_be_exact_is_refused_without_a_number(pairs, count, seed):
    whole, units = listing(pairs)
    assume(min(count_drawable(units, whole.targets).values()) < count)
    with pytest.raises(DataError, match=r"a class has fewer units than data\.subsample draws") as refusal:
        whole.draw(count, seed)
    assert not any(character.isdigit() for character in str(refusal.value))


@given(pairs=PAIRS, seed=SEEDS)
def test_whether_a_draw_is_possible_hangs_on_no_seed(pairs, seed):
    whole, units = listing(pairs)
    most = min(count_drawable(units, whole.targets).values())
    assert sum(count_drawable(units, whole.targets).values()) == len(set(units))
    if most:
        whole.draw(most, seed)
    with pytest.raises(DataError):
        whole.draw(most + 1, seed)


def test_units_of_several_classes_count_for_each_of_them_equally_often():
    units = [f"patient {number}" for number in range(3000) for _ in range(3)]
    counts = count_drawable(units, [0, 1, 2] * 3000)
    assert sum(counts.values()) == 3000
    assert all(abs(counts[target] - 1000) < 5 * (3000 / 3 * 2 / 3) ** 0.5 for target in range(3))


def folders(units: int, classes: int) -> Iterator[Folder]:
    yield from product(range(2**classes), repeat=units)


def draw(folder: Folder, count: int, seed: int) -> Drawn | None:
    """Who is drawn out of a folder in which each unit has one image of each of its classes; None if it is refused."""
    images = [
        (f"unit {unit}", target)
        for unit, classes in enumerate(folder)
        for target in range(classes.bit_length())
        if classes >> target & 1
    ]
    units, targets = [unit for unit, _ in images], [target for _, target in images]
    if not images or min(count_drawable(units, targets).values()) < count:
        return None
    return frozenset(images[place] for place in draw_places(units, targets, count, seed)[0])


def less(folder: Folder) -> Iterator[Folder]:
    """The folder without one of its units."""
    for unit in (place for place, classes in enumerate(folder) if classes):
        yield (*folder[:unit], 0, *folder[unit + 1 :])


def more(folder: Folder, classes: int) -> Iterator[Folder]:
    """The folder with one unit more, of any name that is free and any classes."""
    for unit in (place for place, of_unit in enumerate(folder) if not of_unit):
        for of_unit in range(1, 2**classes):
            yield (*folder[:unit], of_unit, *folder[unit + 1 :])


@pytest.mark.parametrize(("units", "classes", "count"), [(5, 2, 1), (5, 2, 2), (4, 3, 1), (6, 1, 3)])
def test_one_unit_of_the_folder_changes_two_units_of_the_draw_at_most_and_some_do(units, classes, count):
    """Every folder of so many units at most, and all of its neighbours under both relations."""
    farthest = {"add-remove": 0, "replace-one": 0}
    for seed in range(4):
        drawn = {folder: draw(folder, count, seed) for folder in folders(units, classes)}
        for folder, before in drawn.items():
            if before is None or len({target for _, target in before}) < classes:
                continue
            without = list(less(folder))
            for fewer in without:
                if (after := drawn[fewer]) and len(after) == len(before):
                    farthest["add-remove"] = max(farthest["add-remove"], len(before ^ after))
            for other in (each for fewer in without for each in more(fewer, classes)):
                if (after := drawn[other]) and len(after) == len(before):
                    farthest["replace-one"] = max(farthest["replace-one"], len(before - after))
    assert farthest == {"add-remove": 2, "replace-one": 1 if classes == 1 else 2}


@given(pairs=PAIRS, count=st.integers(1, 3), seed=SEEDS)
def test_who_is_not_drawn_has_no_part_in_it(pairs, count, seed):
    whole, units = listing(pairs)
    assume(min(count_drawable(units, whole.targets).values()) >= count)
    used, _ = whole.draw(count, seed)
    drawn = {unit for unit, _ in units_of(used, whole, units)}
    for absent in set(units) - drawn:
        kept = [place for place, unit in enumerate(units) if unit != absent]
        fewer, _ = whole.subset(kept).draw(count, seed)
        assert fewer.files == used.files


def test_the_draw_follows_from_the_seed_and_every_unit_is_drawn_equally_often():
    whole, _ = listing([(unit, 0) for unit in range(10)])
    draws = [whole.draw(3, seed)[0].files for seed in range(2000)]
    assert draws[3] == whole.draw(3, 3)[0].files
    often = Counter(file for drawn in draws for file in drawn)
    assert all(abs(often[file] - 600) < 5 * (2000 * 0.3 * 0.7) ** 0.5 for file in whole.files)


def test_a_draw_is_the_same_however_unicode_spells_the_names():
    composed, apart = ([f"Zo{e} {number}" for number in range(20)] * 2 for e in ("\u00e9", "e\u0301"))
    targets = [0] * 20 + [1] * 20
    assert draw_places(composed, targets, 3, 5) == draw_places(apart, targets, 3, 5)


def test_of_a_class_without_units_none_can_be_drawn():
    whole, _ = listing([(1, 0), (2, 0), (3, 1)])
    assert whole.count_drawable() == {"a": 2, "b": 1, "c": 0}
    assert whole.count_units() == {"a": 2, "b": 1, "c": 0}
