"""The native dialect: requests, what a model can do, and what it costs."""

from __future__ import annotations

import base64
import json

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.public.modality import ModelSize
from pcevolve.wire.providers import dialect
from pcevolve_shared import wire
from support.provider import png
from support.runs import small_plan

PLAN = small_plan()
CREATE = next(iter(PLAN.round(0)))
VARY = next(iter(PLAN.round(1)))
B64 = base64.b64encode(png(1)).decode()


def test_native_requests_satisfy_the_wire_contract():
    created = dialect("getimg").encode(PLAN, CREATE, None)
    varied = dialect("getimg").encode(PLAN, VARY, png(1))
    one = wire.TextToImageRequest.model_validate_json(created.body)
    two = wire.ImageToImageRequest.model_validate_json(varied.body)
    assert (created.path, varied.path) == (wire.TEXT_TO_IMAGE, wire.IMAGE_TO_IMAGE)
    assert (one.prompt, one.n, one.width) == ("A leather texture image with cut", 2, 16)
    assert (two.strength, two.image) == (0.8, B64)


def test_prototypes_are_image_prompts_where_the_plan_names_an_adapter():
    plan = small_plan(adapter="ip", adapter_scale=0.5)
    created, varied = (
        dialect("getimg").encode(plan, call, image) for call, image in ((CREATE, None), (VARY, png(1)))
    )
    prompted = wire.IpAdapterRequest.model_validate_json(varied.body)
    assert (created.path, varied.path) == (wire.TEXT_TO_IMAGE, wire.IP_ADAPTER)
    assert (prompted.adapter, prompted.scale, prompted.strength, prompted.image) == ("ip", 0.5, 0.8, B64)


@pytest.mark.parametrize("cost", [b"NaN", b'"$0.01"', b"-1"])
def test_an_answer_whose_cost_cannot_be_read_states_none_and_brings_its_images(cost):
    body = b'{"images":[{"image":"AAAA"},{"image":null}],"cost":' + cost + b"}"
    assert dialect("getimg").decode(CREATE, body) == [b"\0\0\0", b""]
    with pytest.raises(ProviderReplyError, match="breaks the contract at cost"):
        dialect("getimg").cost(body)


def test_an_adapter_that_the_model_has_not_and_negative_prompts_that_it_does_not_read_are_refused():
    body = json.dumps({"data": [{"id": "m", "adapters": ["ip"], "negative_prompts": False}]}).encode()
    spoken = dialect("getimg")
    spoken.require_adapter("m", "ip", body)
    with pytest.raises(UsageError, match="has no IP-Adapter 'faces': it has ip"):
        spoken.require_adapter("m", "faces", body)
    spoken.require_negative_prompts("m", json.dumps({"data": [{"id": "m"}]}).encode())
    with pytest.raises(UsageError, match="does not use negative prompts"):
        spoken.require_negative_prompts("m", body)


LISTED = {
    "id": "m",
    "base_resolution": {"width": 640, "height": 512},
    "recommended": {"steps": 4, "guidance": 0, "strength_low": 0.9, "strength_high": 0.4},
    "strengths": False,
    "exact": "alone",
    "library": {"images": 3, "licences": [{"name": "cc0\u202e", "images": 3}], "licence_files": []},
}


def listed(*models: object) -> bytes:
    return json.dumps({"object": "list", "data": models}).encode()


def test_a_model_is_read_out_of_the_list_in_an_object_or_bare():
    spoken = dialect("getimg")
    for body in (listed({"id": "x"}, LISTED), json.dumps([LISTED]).encode()):
        assert spoken.native_size("m", body) == ModelSize(640, 512)
        told = spoken.advice("m", body)
        assert (told.steps, told.guidance, told.low, told.high) == (4, 0, 0.4, 0.9)
        assert (spoken.takes_strength("m", body), spoken.exact("m", body)) == (False, "alone")
        library = spoken.library("m", body)
        assert (library.images, library.licences[0].name) == (3, "cc0\\u202e")


def test_of_a_model_that_is_not_listed_or_says_little_nothing_is_known():
    spoken, body = dialect("getimg"), listed({"id": "m"}, {"id": "words", "pipelines": ["chat"]})
    for model in ("m", "other"):
        assert (spoken.advice(model, body), spoken.exact(model, body), spoken.library(model, body)) == (
            None,
        ) * 3
        assert spoken.takes_strength(model, body)
    with pytest.raises(ProviderReplyError, match="the model has no base_resolution"):
        spoken.native_size("m", body)
    with pytest.raises(UsageError, match="words"):
        spoken.native_size("words", body)
    with pytest.raises(UsageError, match=r"it has no IP-Adapter: leave provider\.adapter out"):
        spoken.require_adapter("m", "ip", body)


def test_a_lone_image_is_a_batch_of_one_and_a_server_of_one_at_a_time_is_not_told_n():
    for none in (b"[]", b"null"):
        assert dialect("getimg").decode(CREATE, b'{"image": "AAAA", "images": %s}' % none) == [b"\0\0\0"]
    alone = small_plan(batch=1)
    assert "n" not in json.loads(dialect("getimg").encode(alone, next(iter(alone.round(0))), None).body)
    assert dialect("getimg").cost(b'{"cost": 0.5}') == 0.5
    assert dialect("getimg").balance(b'{"balance": 2}') == 2
