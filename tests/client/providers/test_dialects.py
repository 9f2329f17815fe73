"""Dialects: calls to bytes and back, without any I/O."""

from __future__ import annotations

import base64
import json

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.providers import dialect
from pcevolve.providers.dialect import require
from pcevolve.providers.openai import PlainOpenAIDialect
from pcevolve.selectors import method
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


@pytest.mark.parametrize(
    "body",
    [
        b"<html>busy</html>",
        b"{}",
        b'{"images":[],"cost":0}',
        b'{"images":[{"image":"not base64!","seed":1},{"image":"AAAA","seed":2}],"cost":0}',
        b'{"images":[{"image":"AAAA","seed":1},{"image":"AAAA","seed":2}],"cost":NaN}',
    ],
)
def test_an_answer_that_breaks_the_contract_is_refused_without_repeating_it(body):
    with pytest.raises(ProviderReplyError) as error:
        dialect("getimg").decode(CREATE, body)
    assert "busy" not in str(error.value)


def test_every_dialect_that_varies_evolves_whether_or_not_it_takes_a_strength():
    needed = set(method("pcevolve").needs_for(20))
    for name in ("getimg", "openai", "openai-plain", "siliconflow", "stability", "a1111"):
        require(dialect(name), needed)
    still = type("Still", (PlainOpenAIDialect,), {"name": "still", "capabilities": frozenset({"create"})})()
    with pytest.raises(UsageError, match="dialect 'still' lacks vary"):
        require(still, needed)
    require(still, method("pcevolve").needs_for(20, "prompt"))


@pytest.mark.parametrize(
    ("listed", "takes"), [({}, True), ({"strengths": True}, True), ({"strengths": False}, False)]
)
def test_a_model_says_whether_it_takes_a_strength_and_is_asked_for_none_if_not(listed, takes):
    body = json.dumps({"data": [{"id": "m", **listed}]}).encode()
    spoken = dialect("getimg")
    assert spoken.takes_strength("m", body) == takes
    plan = small_plan(graded=takes, **({} if takes else {"strengths": ()}))
    sent = json.loads(spoken.encode(plan, next(plan.round(1)), png(1)).body)
    assert sent.get("strength") == (0.8 if takes else None)
    assert dialect("openai").takes_strength("m", body) == takes
    assert dialect("openai").takes_strength("m", b"no list")
    assert not dialect("openai-plain").takes_strength("m", body)
