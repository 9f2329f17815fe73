"""How many cells there are is public, and the average one stands out of the noise."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.privacy import Event
from pcevolve.selectors import METHODS
from pcevolve.selectors.cells import CLEAR, FEWEST, usual_cells
from pcevolve.selectors.rounds import Scope
from support.runs import small_plan

SCOPE = Scope("replace-one", iterations=3, classes=3, shots=90, candidates=40)
NOISE = Event("gaussian", "1/2")
SIGMA = 2**0.5 / 2


@pytest.mark.parametrize(("share", "cells"), [(1.0, 63), (0.5, 31), (0.2, 12), (0.03, 12), (0.0, 12)])
def test_the_average_cell_counts_more_than_noise_but_there_are_twelve(share: float, cells: int):
    assert usual_cells(NOISE, SCOPE, share, 160) == cells
    if cells > FEWEST:
        assert SCOPE.shots * share / cells >= CLEAR * SIGMA > SCOPE.shots * share / (cells + 1)


def test_there_are_no_more_than_first_candidates():
    assert usual_cells(NOISE, SCOPE, 1.0, 20) == 20


def test_cells_are_for_the_method_that_counts_in_them():
    with pytest.raises(UsageError, match=r"counts nothing in cells: leave method.cells out"):
        METHODS["pe"].planned(small_plan(method="pe", cells=3))


def test_first_candidates_stay_in_the_pool_of_whoever_counts_around_them():
    with pytest.raises(UsageError, match=r"have to stay in the pool: leave method.pool out"):
        METHODS["secpe"].planned(small_plan(method="secpe", keep="selected", pool="latest", cells=3))
