"""The model from start to stop, as callers see it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from pcevolve_server.errors import EngineLostError, ModelLoadError
from pcevolve_server.http.app import create_app
from pcevolve_server.settings import Settings
from pcevolve_shared import wire
from support.served import on_thread, read_refusal

HERE = "http://127.0.0.1"
ASK = {"model": "fake", "prompt": "a cat", "seed": 7}


@pytest.mark.parametrize("seconds", [60, 1])
def test_a_server_told_to_stop_serves_on_and_tells_the_rest_a_second_before_the_end(
    serve, fake, wait, seconds
):
    with serve(fake, shutdown_seconds=seconds) as client, ThreadPoolExecutor() as callers:
        fake.gate.clear()
        asked = [
            callers.submit(client.post, wire.TEXT_TO_IMAGE, json=ASK | {"seed": seed}) for seed in (1, 2)
        ]
        wait(lambda: fake.batches)
        client.app.state.parts.host.begin_stopping()
        wait(lambda: client.get("/readyz").json() == {"status": "stopping"})
        if seconds > 1:
            fake.gate.set()
            assert [each.result().status_code for each in asked] == [200, 200]
            return
        for each in asked:
            read_refusal(each.result(), 503, "stopping")
            assert each.result().headers["Retry-After"] == "5"


def test_a_server_told_to_stop_while_it_loads_is_never_ready(fake, wait):
    gate, said = threading.Event(), []

    def load():
        gate.wait(20)
        return fake

    app = create_app(Settings(), on_thread(load), on_ready=said.append)
    with TestClient(app, base_url=HERE) as client:
        host = client.app.state.parts.host
        host.begin_stopping()
        wait(lambda: host.status == "stopping")
        gate.set()
        wait(lambda: host._serving)
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "stopping")
        assert (host.status, said) == ("stopping", [])


def test_until_the_model_is_loaded_only_health_is_well(fake, wait):
    gate = threading.Event()
    app = create_app(Settings(), on_thread(lambda: fake if gate.wait(20) else None))
    with TestClient(app, base_url=HERE) as client:
        assert client.get(wire.HEALTH).status_code == 200
        ready = client.get(wire.READY)
        assert (ready.status_code, ready.json()) == (503, {"status": "loading"})
        response = client.post(wire.TEXT_TO_IMAGE, json=ASK)
        read_refusal(response, 503, "loading")
        assert int(response.headers["Retry-After"]) >= 1
        gate.set()
        wait(lambda: client.get(wire.READY).status_code == 200)


def test_a_model_that_cannot_be_loaded_is_reported(wait):
    failures = []

    def load():
        raise ModelLoadError("no such model")

    with TestClient(create_app(Settings(), on_thread(load), failures.append), base_url=HERE) as client:
        wait(lambda: failures)
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
    assert str(failures[0]) == "no such model"


@pytest.mark.parametrize("asks", [True, False])
def test_an_engine_that_is_lost_ends_the_server_whether_anybody_asks_or_not(fake, wait, asks):
    failures, over = [], threading.Event()

    async def opened():
        engine = await on_thread(lambda: fake)()

        async def run(tasks):
            raise EngineLostError("nothing is left")

        async def wait_for_failure():
            while not over.is_set():
                await asyncio.sleep(0.01)
            return EngineLostError("nothing is left")

        if asks:
            engine.run = run
        else:
            engine.wait_for_failure = wait_for_failure
        return engine

    with TestClient(create_app(Settings(), opened, failures.append), base_url=HERE) as client:
        wait(lambda: client.get(wire.READY).status_code == 200)
        assert failures == []
        if asks:
            read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
        over.set()
        wait(lambda: failures)
        ready = client.get(wire.READY)
        assert (ready.status_code, ready.json()) == (503, {"status": "failed"})
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
        assert "pcevolve_ready 0.0" in client.get("/metrics").text
    assert [str(each) for each in failures] == ["nothing is left"]
