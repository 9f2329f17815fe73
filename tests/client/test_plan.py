"""The plan: public, complete, and the same for everybody who describes the same run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from support.runs import small_plan


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 4), st.integers(2, 5))
def test_every_class_gets_its_images_in_every_iteration(candidates, batch, iterations, classes):
    plan = small_plan(
        labels=tuple(f"c{k}" for k in range(classes)),
        candidates=candidates,
        batch=batch,
        iterations=iterations,
        strengths=(0.8,) * iterations,
    )
    made: Counter[tuple[int, str]] = Counter()
    for call in plan.calls.values():
        assert 1 <= call.count <= batch
        made[call.iteration, call.label] += call.count
    expected = {(t, label): candidates for t in range(iterations + 1) for label in plan.labels}
    assert made == expected


@given(st.sampled_from([1, 2, 3, 4, 6, 12]), st.integers(1, 5))
def test_several_prototypes_share_the_candidates_evenly(prototypes, batch):
    plan = small_plan(candidates=12, prototypes=prototypes, batch=batch)
    shares: Counter[int | None] = Counter()
    for call in plan.round(1):
        if call.label == "cut":
            shares[call.parent] += call.count
    assert shares == dict.fromkeys(range(prototypes), 12 // prototypes)


def test_wire_seeds_come_from_the_public_seed_alone():
    assert [c.seed for c in small_plan().round(0)] == [c.seed for c in small_plan(run_id="f" * 32).round(0)]
    assert [c.seed for c in small_plan().round(0)] != [c.seed for c in small_plan(run_seed=8).round(0)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": ("cut",)}, "at least 2 items"),
        ({"labels": ("cut", "cut")}, "same name"),
        ({"labels": ("../x", "cut")}, "pattern"),
        ({"strengths": (0.8,)}, "one per iteration"),
        ({"prompt_template": "an image"}, "is missing"),
        ({"candidates": 3, "prototypes": 2}, "multiple of"),
        ({"api": "http://u:p@host"}, "pattern"),
        ({"epsilon": "1/0"}, "pattern"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes, reason):
    with pytest.raises(ValidationError, match=reason):
        small_plan(**changes)


def test_words_of_the_domain_cannot_smuggle_a_second_label():
    assert small_plan(domain="{label} x").prompt("cut") == "A {label} x image with cut"
