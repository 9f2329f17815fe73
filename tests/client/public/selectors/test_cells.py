"""Cells: what another value of a secret changes, with privacy units of several records too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pcevolve.public.privacy import Event
from pcevolve.public.selectors import Measurement
from pcevolve.public.selectors.cells import Cells, choose_cells
from pcevolve.public.selectors.selection import PrivateEmbeddings, SelectionInput
from support.contract import scope
from support.examples import examples
from support.neighbours import Observer

ANCHORS = np.array([[0.0], [10.0], [20.0]])
SCENE = SelectionInput(("a",), (ANCHORS,), 1, 3, iteration=1, iterations=2, seed=1, relation="replace-one")
FINE = (Event("gaussian", "1/1000000000"),)
GROUPS = (0.0, 1.0, 2.0, 50.0, 51.0, 52.0, 53.0)
"""Two groups of first candidates."""


def count(places: list[float], scene: SelectionInput) -> Measurement:
    """Release counts of records of one class, without noise."""
    rows = np.array(places)[:, None]
    private = PrivateEmbeddings(rows, np.zeros(len(rows), dtype=np.int64), np.arange(len(rows)))
    return Cells().measure(private, scene, FINE, Observer())


def cells(places: list[int], units: list[int], caps: list[float]) -> np.ndarray:
    private = PrivateEmbeddings(
        ANCHORS[places], np.zeros(len(places), dtype=np.int64), np.array(units), caps=np.array(caps)
    )
    return Cells().measure(private, SCENE, FINE, Observer())["cells"]


RECORD = st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans())
"""Where it lies, its unit, and whether it holds the secret."""


@given(st.lists(RECORD, min_size=1, max_size=8), st.lists(st.integers(0, 2), min_size=8, max_size=8))
@settings(max_examples=examples(200))
def test_another_value_of_a_secret_moves_only_the_shares_of_the_records_that_hold_it(records, elsewhere):
    share = 1 / 64  # where a unit's norm mattered, what others count would move by more
    units, held = [unit for _, unit, _ in records], [holds for _, _, holds in records]
    caps = [share if holds else 1.0 for holds in held]
    before = [place for place, _, _ in records]
    after = [new if holds else old for old, new, holds in zip(before, elsewhere, held, strict=False)]
    moved = np.abs(cells(after, units, caps) - cells(before, units, caps)).sum()
    own = sum(1 / units.count(unit) for unit, holds in zip(units, held, strict=True) if holds)
    assert moved <= 2 * share * own + 1e-6


def test_a_unit_adds_no_more_than_one_vote_in_all():
    found = cells([0, 0, 1, 2], [0, 0, 0, 1], [1.0, 1.0, 1.0, 1.0])
    assert np.allclose(found, [2 / 3, 1 / 3, 1.0], atol=1e-6)


def in_groups(*later: float, **changes: object) -> SelectionInput:
    """A question about two groups of first candidates, and about later ones."""
    pool = np.array([*GROUPS, *later])[:, None]
    return replace(SCENE, pools=(pool,), **{"cells": 2, **changes})  # type: ignore[arg-type]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
@settings(max_examples=examples(100))
def test_every_record_counts_in_one_of_the_few_cells_that_of_its_nearest_anchor(places):
    first, second = 1.0, 51.5  # the groups' means
    gaps = [abs(place - first) - abs(place - second) for place in places]
    assume(all(abs(gap) > 1e-6 for gap in gaps))
    found = count(places, in_groups())["cells"]
    near = sum(gap < 0 for gap in gaps)
    assert np.allclose(found, [near, len(places) - near], atol=1e-6)


def test_what_a_cell_counts_is_shared_by_the_candidates_in_it():
    # The second group has 9 of 10 records and twenty later candidates, the first one record and three candidates.
    measured = count([0.0, *[52.0] * 9], in_groups())
    later = tuple(np.linspace(49, 53, 20))
    picks = [Cells().pick(measured, in_groups(*later, seed=seed))[0][0] for seed in range(3000)]
    first = np.mean([pick < 3 for pick in picks])
    assert abs(first - 1 / 10) < 0.03  # in proportion to the counts, however many candidates there are


def test_the_anchors_of_later_rounds_are_those_of_the_first():
    measured = count([0.0, 52.0], in_groups())
    far = (1000.0,) * 20  # would be a group of their own, were they among the first
    picked = Cells().pick(measured, in_groups(*far, wanted=len(GROUPS)))[0]
    assert len(set(picked.tolist())) == len(GROUPS)
    assert Cells().is_picked(measured, in_groups(*far, wanted=len(GROUPS)), [picked])


def test_a_release_of_another_number_of_cells_is_none():
    measured, scene = count([0.0, 52.0], in_groups()), in_groups()
    assert Cells().could_measure(measured, scene, FINE)
    assert not Cells().could_measure(measured, replace(scene, cells=3), FINE)
    assert not Cells().could_measure(measured, replace(scene, cells=None), FINE)


@pytest.mark.parametrize(
    ("share", "initial", "cells"),
    [(1.0, 1000, 100), (0.5, 1000, 50), (1.0, 70, 70), (0.1, 1000, 12), (0.1, 8, 8)],
)
def test_the_average_cell_counts_two_deviations_of_noise_and_there_are_a_dozen_at_least(
    share, initial, cells
):
    sizes = scope(shots=400, relation="add-remove")
    assert choose_cells(Event("gaussian", "2"), sizes, share, initial) == cells
