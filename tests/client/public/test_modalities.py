"""What a plan makes: images, whose settings stand among its others, or texts, with a part of their own."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve.public.modalities import Images, Texts, spoken
from pcevolve.public.plan import PublicPlan
from support.runs import small_plan

TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}, "width": None, "height": None}
IN_ORDER = (
    "vary_by",
    "guidance",
    "steps",
    "adapter",
    "adapter_scale",
    "width",
    "height",
    "batch",
    "relation",
)


def of_texts(**changes: object) -> PublicPlan:
    values = {name: value for name, value in {**TEXTS, **changes}.items() if value is not None}
    return PublicPlan.model_validate(
        {
            **{
                k: v
                for k, v in json.loads(small_plan().model_dump_json()).items()
                if k not in Images.model_fields
            },
            **values,
        }
    )


def test_a_plan_for_images_is_written_down_as_it_was_before_there_were_texts():
    written = json.loads(small_plan(adapter="ip", adapter_scale=0.5).model_dump_json())
    assert "modality" not in written
    names = list(written)
    assert [name for name in names if name in IN_ORDER] == [*IN_ORDER[1:]]
    assert names.index("negative_prompt") + 1 == names.index("candidates")
    plain = json.loads(small_plan().model_dump_json())
    assert not {"adapter", "adapter_scale"} & set(plain)
    assert (plain["width"], plain["steps"], plain["guidance"]) == (16, 50, 7.5)


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
