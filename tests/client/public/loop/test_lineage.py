"""What shows the same is one candidate of its class, and is in a dataset once: by a public rule."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.loop.lineage import Population, cut_to_proportion, make_pool, share_out
from pcevolve.public.privacy import Event
from pcevolve.public.release import Candidate, Receipt
from support.runs import small_plan


def population(iteration: int = 0, **shown: str) -> Population:
    """Candidates of each class, one for each letter, which says what it shows; ``.`` cannot be used."""
    return {
        label: tuple(
            Candidate(
                f"{label}{iteration}-{place}", label, iteration, None, f"{letter}/{label}{iteration}{place}"
            )
            for place, letter in enumerate(letters)
        )
        for label, letters in shown.items()
    }


def show(digest: str) -> str:
    """What is shown: the same for candidates of other bytes."""
    return digest[0].replace(".", "")


def letters(of: Population) -> dict[str, str]:
    return {label: "".join(each.digest[0] for each in of_class) for label, of_class in of.items()}


@pytest.mark.parametrize(
    ("populations", "kept"),
    [
        ([population(a="xyz", b="uvw")], {"a": "xyz", "b": "uvw"}),
        ([population(a="xyx", b="uuu")], {"a": "xy", "b": "u"}),
        # Classes that show the same keep it both: none takes the other's choice away.
        ([population(a="xy", b="yxy")], {"a": "xy", "b": "yx"}),
        # Across rounds the older one stays.
        ([population(a="xy", b="uv"), population(1, a="yz", b="xw")], {"a": "xyz", "b": "uvxw"}),
        # What cannot be used is nobody's repeat.
        ([population(a="..x", b=".y")], {"a": "..x", "b": ".y"}),
    ],
)
def test_of_what_shows_the_same_the_first_stays(populations: list[Population], kept: dict[str, str]):
    pool = make_pool(populations, show)
    assert letters(pool.candidates) == kept
    made = {each for one in populations for each in chain(*one.values())}
    assert {*chain(*pool.candidates.values(), *pool.repeats.values())} == made


shown = st.lists(st.sampled_from("pqrst."), min_size=1, max_size=6).map("".join)


@given(st.lists(st.tuples(shown, shown), min_size=1, max_size=3))
def test_a_class_pools_everything_that_its_own_show_once_and_grows_at_its_end(rounds: list[tuple[str, str]]):
    populations = [population(number, a=a, b=b) for number, (a, b) in enumerate(rounds)]
    pool = make_pool(populations, show)
    for place, label in enumerate("ab"):
        there = [each.digest[0] for each in pool.candidates[label] if show(each.digest)]
        assert there == list(dict.fromkeys("".join(each[place] for each in rounds).replace(".", "")))
    for number in range(1, len(populations)):
        for label, of_class in make_pool(populations[:number], show).candidates.items():
            assert pool.candidates[label][: len(of_class)] == of_class


@given(shown, shown, shown, st.sampled_from(["", "p", "pq"]))
def test_a_dataset_shows_nothing_twice_and_whatever_it_leaves_out_is_there(a: str, b: str, c: str, gone: str):
    dataset = population(a=a, b=b, c=c)
    kept = share_out(dataset, population(9, s=gone)["s"], show)
    there = [each.digest[0] for each in chain(*kept.values()) if show(each.digest)]
    assert len(there) == len({*there})
    assert {*there} == {*(a + b + c)} - {*gone, "."}
    assert all(
        [each for each in dataset[label] if each in kept[label]] == [*kept[label]] for label in dataset
    )


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (population(a="wxyz", b="wxyz"), {"a": "wy", "b": "xz"}),
        (population(a="xy", b="yx", c="xy"), {"a": "x", "b": "y", "c": ""}),
        (population(a="x", b="xxy"), {"a": "x", "b": "y"}),
        (population(a="..", b="."), {"a": "..", "b": "."}),
    ],
)
def test_classes_that_show_the_same_get_their_share_of_it(made: Population, kept: dict[str, str]):
    assert letters(share_out(made, (), show)) == kept


@given(st.integers(1, 4), st.integers(1, 4))
def test_where_all_differ_a_pool_is_all_of_them_in_order(first: int, second: int):
    made = population(a="abcd"[:first], b="efgh"[:second])
    assert make_pool([made], show).candidates == made


def test_a_view_that_another_candidate_was_judged_by_is_left_out():
    made = population(a="xyz")
    views = {
        "a0-0": population(a="pq")["a"],
        "a0-1": population(1, a="pp")["a"],
        "a0-2": population(2, a=".r")["a"],
    }
    seen = make_pool([made], show, views).views
    assert letters(seen) == {"a0-0": "pq", "a0-2": ".r"}, "the second is judged by itself"


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
