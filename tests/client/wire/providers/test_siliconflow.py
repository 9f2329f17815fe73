"""SiliconFlow's dialect: data URLs in, links out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pcevolve.errors import ProviderReplyError
from pcevolve.wire.providers import dialect
from support.online import b64
from support.provider import png
from support.runs import small_plan

FLOW = dialect("siliconflow")
PLAN = small_plan(dialect="siliconflow", negative_prompt="text")
CALL = next(iter(PLAN.round(0)))


def test_an_image_goes_in_as_a_data_url_and_there_is_no_strength():
    created = json.loads(FLOW.encode(PLAN, CALL, None).body)
    varied = json.loads(FLOW.encode(PLAN, next(iter(PLAN.round(1))), png(1)).body)
    assert (created["image_size"], created["batch_size"], created["seed"]) == ("16x16", 2, CALL.seed + 1)
    assert (created["negative_prompt"], "image" in created) == ("text", False)
    assert varied["image"] == f"data:image/png;base64,{b64(1)}"
    assert "strength" not in varied
    plain = small_plan(dialect="siliconflow")
    assert "negative_prompt" not in json.loads(FLOW.encode(plain, CALL, None).body)


def test_a_seed_has_at_most_32_bits_and_is_never_0_which_means_any():
    seeds = [
        json.loads(FLOW.encode(PLAN, replace(CALL, seed=each), None).body)["seed"] for each in (0, 2**32 - 1)
    ]
    assert seeds == [1, 1]
    assert json.loads(FLOW.encode(PLAN, replace(CALL, seed=2**32 - 2), None).body)["seed"] == 4_294_967_295


def answer(count: int) -> bytes:
    return json.dumps(
        {"images": [{"url": f"https://cdn.example/{place}"} for place in range(count)]}
    ).encode()


def test_links_are_followed_for_as_many_images_as_were_asked_for():
    assert FLOW.links(CALL, answer(3)) == ("https://cdn.example/0", "https://cdn.example/1")
    assert FLOW.decode(CALL, answer(2), [b"a", b"b"]) == [b"a", b"b"]
    with pytest.raises(ProviderReplyError, match="the images behind the API's links are missing"):
        FLOW.decode(CALL, answer(2), [b"a"])
    with pytest.raises(ProviderReplyError, match="images"):
        FLOW.links(CALL, answer(5))


def test_what_is_left_on_the_account_is_told():
    assert (FLOW.balance_request().method, FLOW.balance_request().path) == ("GET", "/v1/user/info")
    assert FLOW.balance(b'{"data": {"totalBalance": "1.5"}}') == 1.5
