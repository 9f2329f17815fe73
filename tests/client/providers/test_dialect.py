"""Dialects: calls to bytes and back, what a plan says that an API is asked for, and two spellings of our own server."""

from __future__ import annotations

import base64
import json

import pytest
from starlette.testclient import TestClient

from pcevolve.egress.transport import Incoming, Outgoing
from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.providers import dialect
from pcevolve.providers.dialect import require
from pcevolve.providers.openai import PlainOpenAIDialect
from pcevolve.selectors import find_method
from pcevolve_server.work import Picture, Task
from pcevolve_shared import images, wire
from support.forge import faults_of
from support.provider import png
from support.runs import SmallRun, small_plan
from support.served import FakeGenerator, serve_app

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


def test_every_dialect_that_varies_evolves_whether_or_not_it_takes_a_strength():
    needed = set(find_method("pcevolve").needs_for(20))
    for name in ("getimg", "openai", "openai-plain", "siliconflow", "stability", "a1111"):
        require(dialect(name), needed)
    still = type("Still", (PlainOpenAIDialect,), {"name": "still", "capabilities": frozenset({"create"})})()
    with pytest.raises(UsageError, match="dialect 'still' lacks vary"):
        require(still, needed)
    require(still, find_method("pcevolve").needs_for(20, "prompt"))


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


def test_an_adapter_that_the_model_has_not_and_negative_prompts_that_it_does_not_read_are_refused():
    body = json.dumps({"data": [{"id": "m", "adapters": ["ip"], "negative_prompts": False}]}).encode()
    spoken = dialect("getimg")
    spoken.require_adapter("m", "ip", body)
    with pytest.raises(UsageError, match="has no IP-Adapter 'faces': it has ip"):
        spoken.require_adapter("m", "faces", body)
    spoken.require_negative_prompts("m", json.dumps({"data": [{"id": "m"}]}).encode())
    with pytest.raises(UsageError, match="reads no negative prompts"):
        spoken.require_negative_prompts("m", body)


def test_the_audit_finds_a_plan_that_says_what_its_requests_do_not(world, tmp_path, monkeypatch):
    # as somebody would forge it who writes the record without our gate
    with monkeypatch.context() as without:
        without.setattr("pcevolve.egress.policy.find_misstatements", lambda *of: ())
        world("openai-plain").open(tmp_path, steps=50).finish()
    faults = faults_of(tmp_path)
    assert faults == ["the plan says that steps is asked for, and it is not"]


def test_a_page_says_that_steps_guidance_and_degree_are_the_apis_own():
    own = "steps, guidance and degrees of variation are left to the API (the API recommends nothing)"
    assert small_plan(dialect="openai-plain").modality.describe_asking("", "") == own
    assert "strength 0.8" in small_plan().modality.describe_asking("0.8", "")


class InProcess:
    """The server's app behind the transport seam."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def send(self, request: Outgoing) -> Incoming:
        answer = self._client.request(
            request.method, request.target, headers=dict(request.headers), content=request.body
        )
        return Incoming(answer.status_code, tuple(answer.headers.items()), answer.content)

    def close(self) -> None:
        """Nothing is open."""


class Noisy(FakeGenerator):
    """Makes images that can be used: noise by the seed."""

    def paint(self, task: Task) -> Picture:
        return Picture(images.decode(png(task.seed)))


@pytest.fixture
def server():
    with serve_app(Noisy()) as client:
        yield InProcess(client)


def test_the_facade_brings_the_images_that_the_native_api_brings(server, tmp_path):
    made = {}
    for name in ("getimg", "openai"):
        plan = small_plan(dialect=name, model="fake", lookahead=1)
        run = SmallRun.open(tmp_path / name, plan, server)
        run.evolve()
        made[name] = [run.transcript.outputs(slot) for slot in plan.calls]
    assert made["getimg"] == made["openai"]
    assert len({digest for outputs in made["getimg"] for digest in outputs}) > 3
