"""OpenAI's Images API, with and without the fields that other servers add."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from pcevolve.public.modality import ModelSize
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve_server.work import Picture, Task
from pcevolve_shared import images
from support.provider import png
from support.runs import SmallRun, small_plan
from support.served import FakeGenerator, serve_app


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


CALL = next(iter(small_plan().round(0)))


def fields_of(name: str, **changes: object) -> dict[str, object]:
    plan = small_plan(dialect=name, **changes)
    return json.loads(dialect(name).encode(plan, next(iter(plan.round(0))), None).body)


def test_only_servers_of_stable_diffusion_are_told_more_than_openai_knows():
    own = {"model", "prompt", "n", "size"}
    assert fields_of("openai-plain").keys() == own | {"output_format"}
    more = fields_of("openai", negative_prompt="text")
    extension = {"response_format", "negative_prompt", "num_inference_steps", "guidance_scale", "seed"}
    assert more.keys() == own | extension
    assert (more["n"], more["size"], more["seed"], more["negative_prompt"]) == (2, "16x16", CALL.seed, "text")


def test_what_only_our_server_tells_is_read_where_it_is_told():
    ours = json.dumps(
        {"data": [{"id": "m", "base_resolution": {"width": 8, "height": 16}, "strengths": False}]}
    )
    spoken = dialect("openai")
    assert spoken.native_size("m", ours.encode()) == ModelSize(8, 16)
    assert not spoken.takes_strength("m", ours.encode())
    for other in (b'{"data": "x"}', b'{"data": [{"id": "other"}]}'):
        assert (spoken.native_size("m", other), spoken.advice("m", other)) == (None, None)
        assert spoken.takes_strength("m", other)
    assert not dialect("openai-plain").takes_strength("m", b"[]")
