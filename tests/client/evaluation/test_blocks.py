"""Some rows at a time are the same numbers as all at once, in memory that does not grow with the number of pairs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pcevolve.evaluation import closeness as blocks
from pcevolve.evaluation.closeness import closeness
from pcevolve.evaluation.memorisation import memorisation


def rows(count: int, seed: int, shift: float = 0.0, width: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)) + shift


@pytest.mark.parametrize("pairs", [1, 7, 100, 1000])
def test_every_figure_is_the_same_however_few_pairs_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, pairs: int
):
    made, private, test = rows(33, 0, 0.3), rows(21, 1), rows(40, 2)
    whole = closeness(made, test, clip=True).to_json()
    copies = memorisation(made, private, test)
    monkeypatch.setattr(blocks, "PAIRS", pairs)
    assert closeness(made, test, clip=True).to_json() == pytest.approx(whole, rel=1e-12)
    assert memorisation(made, private, test) == copies


def test_memory_does_not_grow_with_the_number_of_pairs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "PAIRS", 2**16)
    one, other = rows(2000, 0, width=2), rows(2000, 1, width=2)
    tracemalloc.start()
    closeness(one, other, clip=True)
    memorisation(one, other, rows(2000, 2, width=2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**23, "a matrix of all pairs has 32 MB"
