"""The sizes of a dataset's classes where noisy numbers of private units were released: public arithmetic."""

from __future__ import annotations

import pytest

from pcevolve.privacy import Event
from pcevolve.public.class_sizes import in_proportion
from pcevolve.public.release import Receipt
from support.runs import small_plan

DATASET = {"cut": tuple("abcdefgh"), "good": tuple("ijklmnop")}


def kept(values: tuple[float, ...], class_counts: bool = True, iteration: int = 1) -> list[int]:
    plan = small_plan(method="pe", delta=1e-5, class_counts=class_counts, labels=("cut", "good"))
    receipt = Receipt(plan.run_id, iteration, (), (Event("gaussian", "1"),), plan.relation, values)
    found = in_proportion(plan, [receipt], DATASET)
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
    assert kept(values) == sizes


def test_nothing_is_cut_where_the_plan_releases_no_class_counts_or_another_round_speaks():
    assert kept((30.0, 10.0), class_counts=False) == [8, 8]
    assert kept((30.0, 10.0), iteration=2) == [8, 8]
