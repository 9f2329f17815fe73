"""What a plan makes: images or texts, whose settings are a part of their own."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve.public.modality import Texts, spoken
from pcevolve.public.plan import PublicPlan
from support.runs import small_plan

TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}}


def of_texts(**changes: object) -> PublicPlan:
    return PublicPlan.model_validate({**json.loads(small_plan().model_dump_json()), **TEXTS, **changes})


@pytest.mark.parametrize("plan", [small_plan(), small_plan(adapter="ip", adapter_scale=1.0), of_texts()])
def test_what_is_written_down_is_read_back(plan):
    again = PublicPlan.model_validate_json(plan.model_dump_json())
    assert (again, again.model_dump_json()) == (plan, plan.model_dump_json())
    assert plan.extended_by(()) == plan


def test_a_plan_for_texts_has_their_settings_and_none_of_images():
    plan = of_texts()
    assert plan.texts == Texts(kind="text", tokens=40, temperature=1.0)
    assert json.loads(plan.model_dump_json())["modality"] == {
        "kind": "text",
        "tokens": 40,
        "temperature": 1.0,
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("No image was sent; an image is one of 3 images.", "No text was sent; a text is one of 3 texts."),
        ("Images and pictures of imagery", "Texts and texts of imagery"),
        ("text-to-image, image-to-image", "new texts, variations"),
        ("An image", "A text"),
    ],
)
def test_what_is_said_of_images_is_said_of_texts(words, said):
    assert spoken(words, "text") == said
    assert spoken(words, "image") == words
