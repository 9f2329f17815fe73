"""Which requests a plan makes, in which order and with which seeds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.plan import PublicPlan
from support.runs import following_plan, small_plan


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 4), st.integers(2, 5))
def test_every_class_gets_its_images_in_every_iteration(candidates, batch, iterations, classes):
    plan = small_plan(
        labels=tuple(f"c{k}" for k in range(classes)),
        candidates=candidates + 2 * (not iterations),
        initial=candidates + 2,
        batch=batch,
        iterations=iterations,
        strengths=(0.8,) * iterations,
    )
    made: dict[tuple[int, str], list[int]] = {}
    for call in plan.calls.values():
        assert 1 <= call.count <= batch
        made.setdefault((call.iteration, call.label), []).extend(range(call.first, call.first + call.count))
    rounds = product(range(iterations + 1), plan.labels)
    assert made == {(t, label): list(range(candidates + 2 * (t == 0))) for t, label in rounds}


@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4), st.integers(1, 4))
def test_lookahead_and_extensions_vary_every_image_in_public_order(looks, more, batch, candidates):
    plan = small_plan(candidates=candidates, initial=candidates, lookahead=looks, more=more, batch=batch)
    made = [call.output(index) for call in plan.calls.values() for index in range(call.count)]
    assert len(made) == len(set(made))
    varied: Counter[tuple[str, str | None]] = Counter()
    for call in plan.calls.values():
        if call.source is not None:
            assert made.index(call.source) < made.index(call.output(0))
            varied[call.purpose, call.source] += call.count
    per_class = {"look": 2 * candidates * looks, "extend": candidates * more}
    for purpose, copies in (("look", looks), ("extend", more)):
        counts = [count for (kind, _), count in varied.items() if kind == purpose]
        assert set(counts) <= {copies}
        assert sum(counts) == 2 * per_class[purpose]


def test_a_plan_asks_for_a_few_images_of_every_class_first():
    plan = small_plan(candidates=40, batch=32)
    told = [(call.label, call.first, call.count) for call in plan.round(0)]
    assert told == [("cut", 0, 8), ("good", 0, 8), ("cut", 8, 32), ("good", 8, 32)]
    assert plan.opening == tuple(plan.round(0))[:2]
    one_by_one = small_plan(candidates=40, batch=1)
    assert len(one_by_one.opening) == 2 * 8
    assert len(small_plan(candidates=2, batch=4).opening) == 2


def make_prompted(wordings: int, labels: tuple[str, ...] = ("cut", "good"), **options: object) -> PublicPlan:
    """A plan with several prompts for each class."""
    prompts = tuple(tuple(f"{label} {k}" for k in range(wordings)) for label in labels)
    return small_plan(prompts=prompts, **options)


@given(initial=st.integers(1, 60), wordings=st.integers(1, 60), batch=st.integers(1, 40))
def test_prompts_of_a_class_share_its_first_images_equally_and_in_order(initial, wordings, batch):
    wordings = min(wordings, initial)
    plan = make_prompted(wordings, initial=initial, candidates=initial, batch=batch)
    for label in plan.labels:
        asked = [
            plan.prompt_of(call) for call in plan.round(0) if call.label == label for _ in range(call.count)
        ]
        assert asked == sorted(asked, key=lambda prompt: int(prompt.split()[1]))
        assert len(asked) == initial
        shares = Counter(asked)
        assert len(shares) == wordings
        assert max(shares.values()) - min(shares.values()) <= 1
    assert all(plan.prompt_of(call) == plan.prompt(call.label) for call in plan.round(1))
    opened = Counter[str]()
    for call in plan.opening:
        opened[call.label] += call.count
    assert set(opened.values()) <= {min(8, initial), *range(8, 16)}


def test_where_prompts_are_varied_no_call_has_a_strength_and_the_wording_of_a_variation_is_left_open():
    plan = make_prompted(2, candidates=4, prototypes=2, lookahead=1, more=1, vary_by="prompt", strengths=())
    assert {call.strength for call in plan.calls.values()} == {None}
    assert {call.wording for call in plan.calls.values() if call.purpose == "create"} == {0, 1}
    assert {call.wording for call in plan.calls.values() if call.purpose != "create"} == {None}
    filled = dataclasses.replace(plan.calls["i001/c001/n000000"], wording=1)
    assert plan.prompt_of(filled) == "good 1"
    assert type(plan).model_validate_json(plan.model_dump_json()) == plan


def test_wire_seeds_come_from_the_public_seed_alone():
    assert [c.seed for c in small_plan().round(0)] == [c.seed for c in small_plan(run_id="f" * 32).round(0)]
    assert [c.seed for c in small_plan().round(0)] != [c.seed for c in small_plan(seed=8).round(0)]


def test_rounds_may_be_larger_than_the_dataset_where_it_is_selected_from_them():
    """Aug-PE: L - 1 variations of each of those that are kept."""
    own = {"method": "aug-pe", "delta": 1e-5}
    plan = small_plan(candidates=4, prototypes=4, variations=6, keep="selected", pool="all", batch=4, **own)
    calls = [call for call in plan.round(1) if call.label == plan.labels[0]]
    assert sum(call.count for call in calls) == 24
    assert [sum(call.count for call in calls if call.parent == parent) for parent in range(4)] == [6] * 4
    assert plan.wanted(1) == plan.wanted(plan.method.iterations + 1) == 4
    assert sum(call.count for call in plan.round(0)) == 4 * len(plan.labels)
    with pytest.raises(ValueError, match="need a dataset that is selected"):
        small_plan(candidates=4, variations=6, **own)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"method": "random"}, "start: a run that starts from a release is of method from-release"),
        ({"start": None}, "start: a run that starts from a release is of method from-release"),
        ({"iterations": 1, "strengths": (0.8,)}, "has no rounds, releases and prompts of its own"),
        ({"keep": "selected", "pool": "all"}, "has no rounds, releases and prompts of its own"),
        ({"appearance": "matched"}, "has no rounds, releases and prompts of its own"),
        ({"initial": 6}, "has no rounds, releases and prompts of its own"),
        ({"labels": ("cut", "good", "worn")}, "every class needs an image of the release"),
        ({"graded": False}, "variations need a strength, and none where the API is asked for none"),
    ],
)
def test_a_plan_that_starts_from_a_release_varies_all_of_it_and_nothing_else(changes, fault):
    assert following_plan().releases == ()
    with pytest.raises(ValueError, match=fault):
        following_plan(**changes)


@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize("candidates", [1, 2, 5, 20])
def test_the_variations_of_a_release_are_shared_among_its_images_and_begin_with_every_class(
    batch, candidates
):
    plan = following_plan(batch=batch, candidates=candidates)
    calls = list(plan.calls.values())
    assert {call.purpose for call in calls} == {"follow"}
    assert [call.label for call in calls[:2]] == ["cut", "good"]
    assert {call.label for call in plan.opening} == {"cut", "good"}
    for label, sources in (("cut", 2), ("good", 1)):
        of_class = [call for call in calls if call.label == label]
        assert [index for call in of_class for index in range(call.first, call.first + call.count)] == [
            *range(candidates)
        ]
        shares = Counter(call.source for call in of_class for _ in range(call.count))
        assert max(shares.values()) - min(shares.values()) <= 1
        assert len(shares) == min(sources, candidates)
