"""Sizes of classes by what was released of them, and no others."""

from __future__ import annotations

import pytest

from pcevolve.public.privacy import Event
from pcevolve.public.proportions import cut_to_proportion
from pcevolve.public.release import Receipt
from support.runs import small_plan

DATASET = {"cut": tuple("abcdefgh"), "good": tuple("ijklmnop")}


def count_kept(values: tuple[float, ...], class_counts: bool = True, iteration: int = 1) -> list[int]:
    plan = small_plan(method="pe", delta=1e-5, class_counts=class_counts, labels=("cut", "good"))
    receipt = Receipt(plan.run_id, iteration, (), (Event("gaussian", "1"),), plan.privacy.relation, values)
    found = cut_to_proportion(plan, [receipt], DATASET)
    assert all(found[label] == DATASET[label][: len(found[label])] for label in DATASET)
    return [len(found[label]) for label in DATASET]


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        ((30.0, 10.0), [8, 3]),
        ((10.0, 30.0), [3, 8]),
        ((5.0, 5.0), [8, 8]),
        ((30.0, -4.0), [8, 1]),
        ((-1.0, -4.0), [8, 8]),
        ((0.0, 0.0), [8, 8]),
    ],
)
def test_the_largest_class_stays_whole_and_none_goes_empty(values: tuple[float, ...], sizes: list[int]):
    assert count_kept(values) == sizes
