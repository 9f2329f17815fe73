"""A draw of privacy units out of a private folder: who may be drawn, what it depends on, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.private.listing import Listing
from pcevolve.private.subsample import subsampled

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=60)
"""The unit of each image, and its class."""
SEEDS = st.integers(0, 2**63 - 1)


def listing(pairs: list[tuple[int, int]]) -> tuple[Listing, list[str]]:
    files = tuple(Path("/p") / f"{target}" / f"{place}.png" for place, (_, target) in enumerate(pairs))
    whole = Listing(Path("/p"), ("a", "b", "c"), files, tuple(target for _, target in pairs))
    return whole, [f"unit {unit}" for unit, _ in pairs]


def units_of(part: Listing, whole: Listing, units: list[str]) -> set[tuple[str, int]]:
    """Units and classes in a part."""
    unit = dict(zip(whole.files, units, strict=True))
    return {(unit[file], target) for file, target in zip(part.files, part.targets, strict=True)}


@given(pairs=PAIRS, count=st.integers(1, 5), seed=SEEDS)
def test_each_class_gets_so_many_units_with_all_their_images_and_nobody_is_in_both_parts(pairs, count, seed):
    whole, units = listing(pairs)
    used, rest = subsampled(whole, units, count, seed)
    drawn = units_of(used, whole, units)
    for target in range(3):
        held = {unit for unit, (_, each) in zip(units, pairs, strict=True) if each == target}
        assert len({unit for unit, each in drawn if each == target}) == min(count, len(held))
    assert len(used.files) == sum((unit, each) in drawn for unit, (_, each) in zip(units, pairs, strict=True))
    assert not {unit for unit, _ in drawn} & {unit for unit, _ in units_of(rest, whole, units)}


@given(pairs=PAIRS, count=st.integers(1, 5), seed=SEEDS)
def test_who_is_not_drawn_has_no_part_in_it(pairs, count, seed):
    whole, units = listing(pairs)
    used, _ = subsampled(whole, units, count, seed)
    drawn = {unit for unit, _ in units_of(used, whole, units)}
    for absent in set(units) - drawn:
        kept = [place for place, unit in enumerate(units) if unit != absent]
        fewer, _ = subsampled(whole.subset(kept), [units[place] for place in kept], count, seed)
        assert fewer.files == used.files


@given(pairs=PAIRS, count=st.integers(1, 5), seed=SEEDS, gone=st.integers(0, 12))
def test_without_one_unit_at_most_one_other_moves_up_in_each_of_its_classes(pairs, count, seed, gone):
    whole, units = listing(pairs)
    kept = [place for place, unit in enumerate(units) if unit != f"unit {gone}"]
    before = units_of(subsampled(whole, units, count, seed)[0], whole, units)
    after = units_of(
        subsampled(whole.subset(kept), [units[place] for place in kept], count, seed)[0], whole, units
    )
    left, came = before - after, after - before
    assert {unit for unit, _ in left} <= {f"unit {gone}"}
    assert all(sum(each == target for _, each in came) <= 1 for target in range(3))
    assert {target for _, target in came} <= {target for _, target in left}


def test_the_draw_follows_from_the_seed():
    whole, units = listing([(unit, 0) for unit in range(40)])
    draws = {subsampled(whole, units, 5, seed)[0].files for seed in range(20)}
    assert len(draws) == 20
    assert subsampled(whole, units, 5, 3)[0].files in draws


def test_every_unit_is_drawn_equally_often():
    whole, units = listing([(unit, 0) for unit in range(10)])
    often = dict.fromkeys(whole.files, 0)
    for seed in range(2000):
        for file in subsampled(whole, units, 3, seed)[0].files:
            often[file] += 1
    assert all(abs(count - 600) < 5 * (2000 * 0.3 * 0.7) ** 0.5 for count in often.values())


@pytest.mark.parametrize("spelled", [("caf\u00e9", "cafe\u0301")])
def test_a_name_is_the_same_in_every_spelling(spelled):
    whole, _ = listing([(unit, 0) for unit in range(9)])
    draws = [
        [place for place, file in enumerate(whole.files) if file in used.files]
        for name in spelled
        for used, _ in [subsampled(whole, [f"{name} {number}" for number in range(9)], 3, 5)]
    ]
    assert draws[0] == draws[1]
