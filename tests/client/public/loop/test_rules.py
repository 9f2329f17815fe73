"""The rulebook: a call carries no image, or one that the provider sent and that plan or receipt names."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import replace

import pytest

from pcevolve.public.calls import Call
from pcevolve.public.loop.rules import OneImage, PlanNames, Refusal, RunState, Verdict
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Chosen, Receipt
from support.runs import following_plan, small_plan

PLAN = small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1)


def sha(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def list_brought(call: Call) -> list[str]:
    return [sha(call.output(index)) for index in range(call.count)]


def state_before(slot: str, plan: PublicPlan = PLAN) -> RunState:
    """Every call before a slot is answered, and no receipt is on record."""
    state = RunState(plan)
    for each, call in plan.calls.items():
        if each == slot:
            return state
        state.note_outputs(each, list_brought(call))
    return state


def receipt(iteration: int = 1, run_id: str = PLAN.run_id, **chosen: tuple[str, ...]) -> Receipt:
    """A receipt that names candidates of classes, by id."""
    choices = tuple(
        Choice(label, tuple(Chosen(each, sha(each)) for each in ids)) for label, ids in chosen.items()
    )
    return Receipt(run_id, iteration, choices, (), PLAN.privacy.relation)


FIRST = "i001/c000/n000000"
SECOND = "i001/c000/n000002"
LOOK = "l000/c000/n000000"
HONEST = receipt(cut=("i000-c000-000001", "i000-c000-000003"))


def image_due(state: RunState, call: Call) -> Verdict:
    return state.turn_of(call) or state.image_of(call)


def test_what_the_plan_names_leaves_as_the_provider_sent_it():
    call = PLAN.calls[LOOK]
    image = Chosen(call.source, sha(call.source))
    assert image_due(state_before(LOOK), call) == OneImage(image, PlanNames())


def expect_refusal(state: RunState, call: Call) -> str:
    verdict = image_due(state, call)
    assert isinstance(verdict, Refusal)
    return verdict.why


@pytest.mark.parametrize(
    "changes", [{"seed": 5}, {"count": 1}, {"label": "good"}, {"slot": "i009/c000/n000000"}], ids=str
)
def test_a_call_that_is_not_word_for_word_in_the_plan_is_refused(changes: dict[str, object]):
    call = dataclasses.replace(next(iter(PLAN.round(0))), **changes)
    assert expect_refusal(RunState(PLAN), call) == "is not in the public plan"


def test_a_call_before_its_turn_is_refused():
    assert expect_refusal(RunState(PLAN), list(PLAN.round(0))[1]) == "is out of order"


def test_a_call_that_was_answered_is_refused():
    first = next(iter(PLAN.round(0)))
    state = state_before(LOOK)
    assert state.has_answer(first)
    assert expect_refusal(state, first) == "is asked again after it was answered"


def test_a_plan_that_names_what_the_provider_had_not_sent_is_refused():
    state = RunState(PLAN)
    for call in PLAN.round(0):
        state.note_outputs(call.slot, ())
    assert expect_refusal(state, PLAN.calls[LOOK]).endswith("the provider had not sent")


def test_what_a_plan_names_for_another_class_is_refused():
    call = dataclasses.replace(PLAN.calls[LOOK], label="good")
    verdict = state_before(LOOK).image_of(call)
    assert verdict == Refusal("carries an image that the plan names for another class")


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (None, "no receipt for its class and iteration"),
        (receipt(2, cut=("i000-c000-000001",)), "no receipt for its class and iteration"),
        (receipt(good=("i000-c001-000001",)), "no receipt for its class and iteration"),
        (receipt(cut=()), "no receipt for its class and iteration"),
        (receipt(run_id="f" * 32, cut=("i000-c000-000001",)), "of another run"),
        (receipt(cut=("i000-c000-000009",)), "not what the API sent"),
        (receipt(cut=("patient 17",)), "not what the API sent"),
        (receipt(cut=("i000-c001-000001",)), "of another class"),
    ],
    ids=str,
)
def test_a_receipt_that_does_not_fit_opens_nothing(forged: Receipt | None, why: str):
    state = state_before(FIRST)
    if forged is not None:
        state.note_receipt(forged)
    assert why in expect_refusal(state, PLAN.calls[FIRST])


def test_a_receipt_with_another_digest_opens_nothing():
    state = state_before(FIRST)
    choice = Choice("cut", (Chosen("i000-c000-000001", "f" * 64),))
    state.note_receipt(dataclasses.replace(HONEST, choices=(choice,)))
    assert "not what the API sent" in expect_refusal(state, PLAN.calls[FIRST])


def test_a_receipt_cannot_choose_an_image_of_its_own_iteration():
    state = state_before(SECOND)
    state.note_receipt(receipt(cut=("i000-c000-000001", "i001-c000-000000")))
    assert "no earlier iteration" in expect_refusal(state, PLAN.calls[SECOND])


def test_an_answer_out_of_its_turn_advances_nothing_and_overwrites_nothing():
    state = state_before(LOOK)
    answered = state.answered
    state.note_outputs("i000/c000/n000000", ["e" * 64, "e" * 64])
    state.note_outputs("i009/c000/n000000", ["e" * 64])
    assert state.answered == answered
    assert image_due(state, PLAN.calls[LOOK]) == image_due(state_before(LOOK), PLAN.calls[LOOK])


def test_behind_a_gap_in_the_record_images_still_have_their_reason():
    state = RunState(PLAN)
    for slot in list(PLAN.calls)[1:]:
        state.note_outputs(slot, list_brought(PLAN.calls[slot]))
    call = next(each for each in PLAN.lookaheads(0) if each.label == "good")
    assert isinstance(state.turn_of(call), Refusal)
    assert isinstance(state.image_of(call), OneImage)


def test_an_image_of_the_release_that_the_plan_starts_from_leaves_for_the_plan_names_it():
    plan = following_plan()
    state, images = RunState(plan), plan.start.images
    for call in plan.calls.values():
        place, number = plan.labels.index(call.label), int(call.source[-6:])
        assert state.image_of(call) == OneImage(Chosen(call.source, images[place][number]), PlanNames())
    other = replace(next(iter(plan.calls.values())), source="s000-c000-000009")
    assert state.turn_of(other) == Refusal("is not in the public plan")
    assert isinstance(state.image_of(other), Refusal)
