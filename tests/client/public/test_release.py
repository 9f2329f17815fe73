"""What is released, and what the gate is handed of it, is frozen."""

from __future__ import annotations

import dataclasses
import json

import pytest
from pydantic import ValidationError

from pcevolve.errors import EgressError
from pcevolve.public.privacy import Event
from pcevolve.public.release import (
    Candidate,
    Choice,
    Chosen,
    Prototype,
    PublicEcho,
    Query,
    Receipt,
    list_start,
)
from support.runs import following_plan, small_plan


def test_what_the_gate_is_handed_is_frozen():
    plan = small_plan()
    call = next(iter(plan.calls.values()))
    with pytest.raises(ValidationError, match="frozen"):
        plan.data.domain = "another"
    with pytest.raises(ValidationError, match="frozen"):
        plan.images.steps = 7
    with pytest.raises(TypeError, match="does not support item assignment"):
        plan.calls[call.slot] = call
    candidate = Candidate.received(call, 0, None, b"an image")
    for value, name in (
        (call, "seed"),
        (candidate, "digest"),
        (PublicEcho(candidate), "candidate"),
        (Receipt(plan.run_id, 1, (), (), plan.privacy.relation), "choices"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)


CHOICE = Choice("cut", (Chosen("i000-c000-000001", "d1"), Chosen("i000-c000-000000", "d0")))
RECEIPT = Receipt("run", 1, (CHOICE,), (Event("gaussian", "3/2"),), "replace-one", (0.5,), "m")


def test_a_receipt_comes_back_from_its_plain_values_and_another_has_another_id():
    assert Receipt.from_dict(json.loads(json.dumps(RECEIPT.as_dict()))) == RECEIPT
    changes = [{"run_id": "x"}, {"iteration": 2}, {"choices": ()}, {"events": ()}, {"relation": "add-remove"}]
    others = [
        dataclasses.replace(RECEIPT, **change) for change in (*changes, {"values": ()}, {"measured": ""})
    ]
    assert len({each.id for each in (RECEIPT, *others)}) == 8


def test_a_receipt_names_candidates_class_by_class_in_their_order():
    assert RECEIPT.of("cut") == CHOICE.chosen
    assert RECEIPT.of("good") == ()
    assert RECEIPT.names("cut", Chosen("i000-c000-000000", "d0"))
    assert not RECEIPT.names("cut", Chosen("i000-c000-000000", "d1"))
    assert not RECEIPT.names("good", CHOICE.chosen[0])


@pytest.mark.parametrize(
    "change", [{"digest": "d1"}, {"label": "good"}, {"iteration": 1}, {"id": "i000-c000-000002"}]
)
def test_a_prototype_is_of_a_receipt_for_its_class_and_a_later_round(change: dict[str, object]):
    candidate = Candidate("i000-c000-000000", "cut", 0, None, "d0")
    assert Prototype(candidate, RECEIPT).receipt is RECEIPT
    with pytest.raises(EgressError, match="has no receipt for its class and iteration"):
        Prototype(dataclasses.replace(candidate, **change), RECEIPT)


def test_images_of_the_release_that_a_run_starts_from_are_candidates_before_all_rounds():
    assert list_start(small_plan()) == {}
    plan = following_plan()
    found = list_start(plan)
    assert [(each.id, each.label, each.iteration, each.parent) for each in found["cut"]] == [
        ("s000-c000-000000", "cut", -1, None),
        ("s000-c000-000001", "cut", -1, None),
    ]
    assert [each.digest for each in found["good"]] == list(plan.start.images[1])
    assert Query("run", 12).key == "0012"
