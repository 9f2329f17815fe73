"""Hugging Face's inference endpoints: one image a request, and the answer is the image."""

from __future__ import annotations

import json

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.public.dialects import ABILITIES, require
from pcevolve.wire.providers import dialect
from support.provider import png
from support.runs import small_plan

SPOKEN = dialect("huggingface")


def test_a_request_names_no_model_and_all_else_that_the_plan_says():
    plan = small_plan(dialect="huggingface", batch=1, negative_prompt="text", iterations=0, strengths=())
    call = next(iter(plan.round(0)))
    asked = SPOKEN.encode(plan, call, None)
    assert (asked.method, asked.path, asked.accept) == ("POST", "/", "image/png")
    assert json.loads(asked.body) == {
        "inputs": plan.prompt_of(call),
        "parameters": {
            "guidance_scale": plan.images.guidance,
            "num_inference_steps": plan.images.steps,
            "width": 16,
            "height": 16,
            "seed": call.seed,
            "negative_prompt": "text",
        },
    }
    plain = small_plan(dialect="huggingface", batch=1, iterations=0, strengths=())
    assert "negative_prompt" not in json.loads(SPOKEN.encode(plain, call, None).body)["parameters"]


def test_the_answer_is_the_image():
    call = next(iter(small_plan(dialect="huggingface", batch=1, iterations=0, strengths=()).round(0)))
    assert SPOKEN.read_outputs(call, png(7)) == [png(7)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"generated_text": "a cut"}]', "is not an image: is it an endpoint for text-to-image\\?$"),
        (b'{"image": "aGk="}', "it has the fields image: does the API need another --dialect"),
        (b"", "is not an image"),
    ],
)
def test_an_answer_that_is_no_image_breaks_the_contract(body: bytes, said: str):
    call = next(iter(small_plan(dialect="huggingface", batch=1, iterations=0, strengths=()).round(0)))
    with pytest.raises(ProviderReplyError, match=said):
        SPOKEN.decode(call, body)


def test_whether_an_endpoint_is_awake_is_asked_for_free_and_nothing_is_varied_by_image():
    assert (SPOKEN.hello().method, SPOKEN.hello().path) == ("GET", "/health")
    assert SPOKEN.native_size("any", b"Ok") is None
    with pytest.raises(UsageError, match="dialect 'huggingface' lacks vary"):
        require(ABILITIES["huggingface"], {"create", "vary"})
