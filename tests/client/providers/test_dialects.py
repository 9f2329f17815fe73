"""Dialects: calls to bytes and back, without any I/O."""

from __future__ import annotations

import base64

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.providers import dialect
from pcevolve.providers.dialect import require
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


def test_a_dialect_without_strength_refuses_to_evolve_before_anything_is_paid():
    needed = set(method("pcevolve").needs_for(20))
    for name in ("openai-plain", "siliconflow"):
        with pytest.raises(UsageError, match=f"dialect '{name}' lacks strength"):
            require(dialect(name), needed)
        require(dialect(name), set(method("t2i").needs_for(0)))
        require(dialect(name), method("pcevolve").needs_for(20, "prompt"))
    for name in ("getimg", "openai", "stability", "a1111"):
        require(dialect(name), needed)
