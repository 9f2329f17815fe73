"""What an answer may weigh; tests/hostile shows what happens to a whole run without these bounds."""

from __future__ import annotations

import base64
import json

import pytest

from pcevolve.egress import bounds
from pcevolve.errors import ProviderReplyError, printable
from pcevolve_shared import images, limits
from support.provider import png
from support.runs import small_plan


def answer(count: int, length: int, prefix: str = "", escaped: bool = False) -> bytes:
    text = prefix + base64.b64encode(b"\xff" * length).decode()
    listed = json.dumps({"images": [{"image": text, "seed": place} for place in range(count)], "cost": 0})
    return (listed.replace("/", "\\/") if escaped else listed).encode()


@pytest.mark.parametrize("body", [b"[" + b"[]," * 2**20, b" " * 2**21, answer(3000, 1000)])
def test_bulk_that_is_no_image_is_refused(body):
    with pytest.raises(ProviderReplyError, match="longer than 1 MiB without its images"):
        bounds.mostly_images(body)


def test_what_arrives_is_joined_up_to_its_bound_and_nothing_is_taken_beyond():
    parts = iter([b"ab"] * 100)
    with pytest.raises(ProviderReplyError, match="is longer than"):
        bounds.bounded(parts, 5)
    assert len(list(parts)) == 97
    assert bounds.bounded([b"ab", b"cde"], 5) == b"abcde"


@pytest.mark.parametrize(("side", "allowed"), [(1024, True), (1032, False)])
def test_an_image_may_be_larger_than_asked_for_but_not_endlessly(side, allowed):
    made = [b"no image", images.encode(images.decode(png(1)).resize((side, side)))]
    if allowed:
        assert bounds.of_asked_size(small_plan(), made) == made
    else:
        with pytest.raises(ProviderReplyError, match="1032 x 1032 pixels where 16 x 16 were asked for"):
            bounds.of_asked_size(small_plan(), made)


def test_a_message_for_a_terminal_is_one_short_line_of_printable_characters():
    assert printable("a\x1b[2J\nb\u202ec") == "a [2J b c"
    assert len(printable("x" * 10**6)) <= 1001


@pytest.mark.parametrize(
    ("target", "success", "most"),
    [
        ("/v1/chat/completions", True, bounds.MAX_TEXT_BYTES),
        ("/v1/chat/completions", False, bounds.MAX_TEXT_BYTES),
        ("/v1/images/generations", True, limits.MAX_RESPONSE_BYTES),
        ("/v1/images/generations", False, bounds.MAX_TEXT_BYTES),
    ],
)
def test_only_answers_that_may_hold_images_may_be_long(target: str, success: bool, most: int):
    assert bounds.most_bytes(target, success) == most
