"""Images are found in an answer whatever the dialect calls them, and whatever a hostile provider puts around them."""

from __future__ import annotations

import json

import pytest

from pcevolve_client.report.answers import images_in
from pcevolve_shared import images
from support.provider import png

A, B = png(1), png(2)
TEXT_A, TEXT_B = images.to_base64(A), images.to_base64(B)


@pytest.mark.parametrize(
    "answer",
    [
        {"images": [{"image": TEXT_A, "seed": 1}, {"image": TEXT_B, "seed": 2}], "cost": 0.0},
        {"data": [{"b64_json": TEXT_A, "revised_prompt": "x"}, {"b64_json": TEXT_B, "revised_prompt": "y"}]},
        {"images": [TEXT_A, TEXT_B], "info": "none"},
    ],
)
def test_images_are_found_in_order_in_any_dialect(answer: object):
    assert images_in(json.dumps(answer).encode(), 2) == [A, B]


def test_a_single_image_is_found():
    assert images_in(json.dumps({"image": TEXT_A, "seed": 1, "cost": 0.1}).encode(), 1) == [A]


def test_escaped_slashes_are_understood():
    assert images_in(json.dumps({"image": TEXT_A}).replace("/", "\\/").encode(), 1) == [A]


def test_what_is_not_base64_keeps_its_place():
    answer = {"images": [{"image": TEXT_A}, {"image": "***"}, {"image": TEXT_B}]}
    assert images_in(json.dumps(answer).encode(), 3) == [A, None, B]


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[" * 100_000, b'{"image": 3}', b"null"])
def test_nonsense_is_no_answer(body: bytes):
    assert images_in(body, 1) is None


def test_an_answer_with_another_number_of_images_is_no_answer():
    assert images_in(json.dumps({"images": [{"image": TEXT_A}]}).encode(), 2) is None
