"""Two checks that share no code, the run once more and the reason of each image, on records honest and forged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.auditing.mutated import (
    FORGED,
    Honest,
    Mutation,
    carrying,
    dropped,
    lines_of,
    list_rerun_faults,
    moved,
    mutated,
    obeying,
    receipted,
    repeated,
    turned,
    worded,
)
from pcevolve.auditing.second_check import _Seen, find_request_faults
from support.examples import examples

BODY = "its body differs from what the plan and the receipt give"
NUMBERS = st.integers(0, 200)
MUTATIONS = st.one_of(
    st.builds(dropped, NUMBERS),
    st.builds(moved, NUMBERS, NUMBERS),
    st.builds(repeated, NUMBERS, NUMBERS),
    st.builds(carrying, NUMBERS, NUMBERS),
    st.builds(worded, NUMBERS, NUMBERS),
    st.builds(receipted, NUMBERS, st.sampled_from(sorted(FORGED)), NUMBERS),
)


def test_neither_has_anything_against_an_honest_record(kept: Honest):
    run = mutated(kept)
    assert list_rerun_faults(run) == []
    assert list(find_request_faults(run)) == []


@settings(max_examples=examples(300), deadline=None)
@given(mutations=st.lists(MUTATIONS, min_size=1, max_size=3))
def test_no_other_record_than_the_honest_one_passes(kept: Honest, mutations: list[Mutation]):
    """The rerun refuses all of them, and so whatever the small check has something against."""
    run = mutated(kept, *mutations)
    told = list_rerun_faults(run)
    if list(find_request_faults(run)):
        assert told
    # Answers that come together may come in any order; of prompts, one may stand for several choices.
    if kept.plan.provider.at_once == 1 and not kept.plan.varies_prompts:
        assert bool(told) == (run.entries != mutated(kept).entries)


@settings(max_examples=examples(120), deadline=None)
@given(places=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3))
def test_both_name_the_same_requests_that_carry_another_image(kept: Honest, places: list[tuple[int, int]]):
    run = mutated(kept, *(carrying(*each) for each in places))
    assert lines_of(list_rerun_faults(run), BODY) == lines_of(find_request_faults(run))


@pytest.mark.parametrize("kind", FORGED)
def test_both_refuse_each_forged_receipt(kept: Honest, kind: str):
    """Of the first round, whose requests carry what the honest one chose, if they carry an image."""
    if kept.plan.start is not None:
        pytest.skip("nothing is chosen")
    run = mutated(kept, receipted(0, kind, 7))  # by another prompt
    assert list_rerun_faults(run)
    assert list(find_request_faults(run)) or kept.plan.varies_prompts


def test_the_small_check_refuses_an_image_of_another_class_that_a_receipt_names(kept: Honest):
    if kept.plan.start or kept.plan.varies_prompts or kept.plan.modality.kind == "text":
        pytest.skip("no image goes back")
    run = mutated(kept, receipted(0, "the classes exchanged", 0), obeying)
    assert any("an image of another class" in each for each in find_request_faults(run))


def test_the_rerun_finds_what_a_small_check_that_believes_any_image_lets_through(
    kept: Honest, monkeypatch: pytest.MonkeyPatch
):
    run = mutated(kept, carrying(2, 7), carrying(3, 7), turned)
    monkeypatch.setattr(_Seen, "explain", lambda seen, sent: None)
    assert list(find_request_faults(run)) == []
    assert list_rerun_faults(run)
