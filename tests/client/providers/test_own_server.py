"""The dialects that PCEvolve's own server speaks, against that server: two spellings, the same images."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from pcevolve.egress.transport import Incoming, Outgoing
from pcevolve_server.work import Picture, Task
from pcevolve_shared import images
from support.provider import png
from support.runs import SmallRun, small_plan
from support.served import FakeGenerator, served


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
    with served(Noisy()) as client:
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
