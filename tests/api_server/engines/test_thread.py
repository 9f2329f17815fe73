"""One model on a thread: what hangs or is lost ends the server, and what is slow does not."""

from __future__ import annotations

import asyncio
import time

import pytest
from starlette.testclient import TestClient

from pcevolve_server.engines import thread
from pcevolve_server.errors import EngineLostError
from pcevolve_server.http.app import create_app
from pcevolve_server.models import ModelCache
from pcevolve_server.settings import Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import wire
from support.painters import Device, GpuPainter
from support.served import read_refusal, wait_until


def tasks(count, side=8, prompt="p"):
    return [Task(Recipe(side, side), prompt, "", seed) for seed in range(count)]


def seeds_of(pictures):
    return [picture.image.getpixel((0, 0))[1] for picture in pictures]


def opened(device, failures, **settings):
    """A client of an app whose model is on a device; why it failed is noted."""
    opening = thread.opening(
        lambda: ModelCache([lambda: GpuPainter(device)]), settings.pop("stall_seconds", 0)
    )
    app = create_app(Settings(**settings), opening, failures.append)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("prompt", "said"), [("break", "the device failed"), ("hang", "made no progress for 0.3 s")]
)
def test_a_device_that_fails_or_hangs_ends_the_server_and_whoever_waits_is_told(prompt, said):
    """As it was, every request was answered 500 and /readyz 200, for ever."""
    failures = []
    with opened(Device(), failures, stall_seconds=0.3) as client:
        wait_until(lambda: client.get(wire.READY).status_code == 200)
        refusal = client.post(wire.TEXT_TO_IMAGE, json={"prompt": prompt})
        read_refusal(refusal, 503, "failed")
        assert "Retry-After" not in refusal.headers
        assert client.get(wire.READY).json() == {"status": "failed"}
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json={"prompt": "p"}), 503, "failed")
        assert "pcevolve_ready 0.0" in client.get(wire.METRICS).text
    (failure,) = failures
    assert isinstance(failure, EngineLostError)
    assert said in str(failure)


def test_a_run_that_is_slow_but_alive_does_not_hang():
    async def scenario():
        engine = await thread.opening(lambda: ModelCache([lambda: Slow(Device())]), 0.2)()
        try:
            return seeds_of(await engine.run(tasks(1)))
        finally:
            await engine.close()

    assert asyncio.run(scenario()) == [0]


class Slow(GpuPainter):
    def create(self, tasks, is_cancelled=lambda: False):
        for _ in range(20):
            time.sleep(0.04)
            is_cancelled()
        return super().create(tasks, is_cancelled)


def test_a_hang_is_noticed_although_its_caller_has_hung_up():
    async def scenario():
        engine = await thread.opening(lambda: ModelCache([lambda: GpuPainter(Device())]), 0.3)()
        run = asyncio.create_task(engine.run(tasks(1, prompt="hang")))
        await asyncio.sleep(0.1)
        run.cancel()
        (outcome,) = await asyncio.gather(run, return_exceptions=True)
        await engine.close()
        return outcome

    assert isinstance(asyncio.run(scenario()), EngineLostError)
