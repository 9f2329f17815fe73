"""Cells: what another value of a secret changes, with privacy units of several records too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.privacy import Event
from pcevolve.selectors.cells import Cells
from pcevolve.selectors.scene import PrivateEmbeddings, Scene
from support.examples import examples

ANCHORS = np.array([[0.0], [10.0], [20.0]])
SCENE = Scene(
    labels=("a",),
    pools=(ANCHORS,),
    wanted=1,
    shots=3,
    iteration=1,
    iterations=2,
    seed=1,
    relation="replace-one",
)


class Silence:
    """Noise of width 0: shows what is counted."""

    def gaussian(self, key: str, values: np.ndarray, sigma: float) -> np.ndarray:
        return values


def cells(places: list[int], units: list[int], caps: list[float]) -> np.ndarray:
    private = PrivateEmbeddings(
        ANCHORS[places], np.zeros(len(places), dtype=np.int64), np.array(units), caps=np.array(caps)
    )
    fine = (Event("gaussian", "1/1000000000"),)
    return Cells().measure(private, replace(SCENE), fine, Silence())["cells"]  # type: ignore[arg-type]


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
