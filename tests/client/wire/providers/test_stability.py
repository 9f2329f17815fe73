"""Stability AI's dialect: forms in, one image out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.public.modality import ModelSize
from pcevolve.wire.providers import dialect
from support.online import b64
from support.provider import png
from support.runs import small_plan

STABILITY = dialect("stability")
PLAN = small_plan(dialect="stability", batch=1, width=1024, height=1024, negative_prompt="text")


def form_of(plan, call, image=None) -> dict[str, str]:
    """Fields of a form, its image left out."""
    asked = STABILITY.encode(plan, call, image)
    assert (asked.method, asked.path) == ("POST", "/v2beta/stable-image/generate/sd3")
    boundary = asked.content_type.partition("boundary=")[2].encode()
    fields = {}
    for part in asked.body.split(b"--" + boundary)[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        name = head.split(b'name="')[1].split(b'"')[0].decode()
        fields[name] = value.removesuffix(b"\r\n").decode("latin-1")
    return fields


def test_an_image_is_asked_for_by_its_ratio_and_varied_by_its_strength():
    created, varied = next(iter(PLAN.round(0))), next(iter(PLAN.round(1)))
    asked = form_of(PLAN, created)
    assert (asked["mode"], asked["aspect_ratio"], asked["negative_prompt"]) == (
        "text-to-image",
        "1:1",
        "text",
    )
    assert int(asked["seed"]) == created.seed + 1  # 0 would be drawn by the API
    again = form_of(PLAN, varied, png(1))
    assert (again["mode"], again["strength"], "aspect_ratio" in again) == ("image-to-image", "0.8", False)
    assert again["image"].encode("latin-1") == png(1)
    assert "negative_prompt" not in form_of(small_plan(dialect="stability", batch=1), created)


@pytest.mark.parametrize(("size", "ratio"), [((1344, 768), None), ((1152, 768), "3:2"), ((512, 640), "4:5")])
def test_a_shape_that_the_api_does_not_make_is_refused(size: tuple[int, int], ratio: str | None):
    plan = small_plan(dialect="stability", batch=1, width=size[0], height=size[1])
    call = next(iter(plan.round(0)))
    if ratio is not None:
        assert form_of(plan, call)["aspect_ratio"] == ratio
        return
    with pytest.raises(UsageError, match="cannot make images of 1344 x 768 pixels"):
        STABILITY.encode(plan, call, None)


def test_an_image_that_was_filtered_is_withheld_and_one_that_ended_otherwise_is_an_error():
    call = next(iter(PLAN.round(0)))

    def read(**more: str) -> list[bytes]:
        return STABILITY.decode(call, json.dumps({"image": b64(1), **more}).encode())

    assert read() == read(finish_reason="SUCCESS") == [png(1)]
    assert read(finish_reason="CONTENT_FILTERED") == [b""]
    with pytest.raises(ProviderReplyError, match=r"stopped making the image \(ERROR {35}\): continue with"):
        read(finish_reason="ERROR\x1b" + " " * 99)


def test_what_is_left_is_asked_for_first_and_told_in_credits():
    assert STABILITY.hello() == STABILITY.balance_request()
    assert (STABILITY.hello().method, STABILITY.hello().path) == ("GET", "/v1/user/balance")
    assert (STABILITY.balance(b'{"credits": 2.5}'), STABILITY.currency) == (2.5, "credits")
    assert STABILITY.native_size("any", b"") == ModelSize(1024, 1024)


def test_the_largest_seed_that_the_api_takes_is_two_below_the_end_of_32_bits():
    call = next(iter(PLAN.round(0)))
    seeds = [form_of(PLAN, replace(call, seed=seed))["seed"] for seed in (0, 2**32 - 3, 2**32 - 2, 2**32 - 1)]
    assert seeds == ["1", "4294967294", "1", "2"]
