"""A plan makes images or texts, whose settings are a part of their own."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve.public.modality import Texts
from pcevolve.public.plan import PublicPlan
from support.runs import small_plan

TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}}


def of_texts(**changes: object) -> PublicPlan:
    return PublicPlan.model_validate({**json.loads(small_plan().model_dump_json()), **TEXTS, **changes})


def test_a_plan_for_texts_has_their_settings_and_none_of_images():
    plan = of_texts()
    assert plan.texts == Texts(kind="text", tokens=40, temperature=1.0)
    assert json.loads(plan.model_dump_json())["modality"] == {
        "kind": "text",
        "tokens": 40,
        "temperature": 1.0,
        "fields": [],
    }
    with pytest.raises(TypeError, match="no settings of images"):
        _ = plan.images
    with pytest.raises(TypeError, match="no settings of texts"):
        _ = small_plan().texts


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 16},
        {"steps": 4},
        {"appearance": "matched"},
        {"modality": {"kind": "sound"}},
        {"modality": {"kind": "text", "tokens": 0, "temperature": 1.0}},
        {"modality": {"kind": "text", "tokens": 5, "temperature": 1.0, "width": 16}},
    ],
)
def test_settings_of_both_do_not_mix(changes):
    with pytest.raises(ValidationError):
        of_texts(**changes)
