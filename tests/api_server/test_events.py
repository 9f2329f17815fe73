"""Progress as server-sent events: what is told, when, to whom, and what ends it."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from starlette.requests import Request

from pcevolve_server.http.answering import Events, EventStream
from pcevolve_server.http.rendering import Answer
from pcevolve_shared import wire

ASK = {"model": "fake", "prompt": "a cat", "seed": 7}
EVENTS = {"Accept": "text/event-stream"}


def events_in(body):
    """Names and data of whole events; comments are passed over."""
    blocks = [block.split("\n") for block in body.split("\n\n")]
    assert blocks.pop() == [""]
    events = [block for block in blocks if not block[0].startswith(":")]
    assert all(len(block) == 2 for block in events)
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def watch(client, ask):
    response = client.post(wire.TEXT_TO_IMAGE, json=ask, headers=EVENTS)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert wire.REQUEST_ID_HEADER in response.headers
    assert "Content-Length" not in response.headers
    return response, events_in(response.text)


def test_the_last_event_has_the_plain_answer(client):
    plain = client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 3})
    _, events = watch(client, ASK | {"n": 3})
    assert plain.headers["Content-Type"] == "application/json"
    assert events == [("running", {"images": 3, "done": 0}), ("done", plain.json())]


def test_who_waits_is_told_how_many_are_before(serve, fake, wait):
    with serve(fake) as client, ThreadPoolExecutor() as callers, ExitStack() as ending:
        fake.gate.clear()
        ending.callback(fake.gate.set)
        first = callers.submit(client.post, wire.TEXT_TO_IMAGE, json=ASK | {"n": 2, "steps": 3})
        wait(lambda: fake.batches)
        asked = []
        for images, queued in ((2, 2), (1, 3)):
            asked.append(callers.submit(watch, client, ASK | {"n": images}))
            wait(lambda queued=queued: f"pcevolve_queue_images {queued}.0" in client.get(wire.METRICS).text)
        fake.gate.set()
        assert first.result().status_code == 200
        events = [each.result()[1] for each in asked]
    assert events[1][0] == ("queued", {"images": 1, "done": 0, "ahead": 2})
    assert [each[-1][0] for each in events] == ["done", "done"]


def test_what_fails_later_ends_in_the_contracts_error_and_is_counted_as_one(client):
    response, events = watch(client, ASK | {"prompt": "explode"})
    metrics = client.get(wire.METRICS).text
    name, body = events[-1]
    error = wire.ErrorResponse.model_validate_json(json.dumps(body)).error
    assert (name, error.code) == ("error", "generation_failed")
    assert error.request_id == response.headers[wire.REQUEST_ID_HEADER]
    assert "SECRET" not in response.text
    assert f'pcevolve_requests_total{{route="{wire.TEXT_TO_IMAGE}",status="500"}} 1.0' in metrics


class Caller:
    """The other end of a stream: what it got, and when it hangs up."""

    def __init__(self):
        self.got, self.gone = [], asyncio.Event()
        self.scope = {"type": "http", "headers": [], "state": {"request_id": "id"}}

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.got.append(message)

    @property
    def text(self):
        return b"".join(message.get("body", b"") for message in self.got).decode()

    async def hear(self, work, **settings):
        stream = EventStream(Request(self.scope, self.receive, self.send), work, Events(), **settings)
        await stream(self.scope, self.receive, self.send)


def test_a_caller_who_hangs_up_ends_the_work_and_is_counted_as_gone():
    ended = []

    async def work(progress):
        progress.waits(3)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def scenario():
        caller = Caller()
        hearing = asyncio.create_task(caller.hear(work))
        while not caller.got:
            await asyncio.sleep(0.01)
        caller.gone.set()
        await asyncio.wait_for(hearing, 5)
        await asyncio.sleep(0)
        return caller.scope["state"]["status"]

    assert asyncio.run(scenario()) == 499
    assert ended == [True]


def test_a_caller_who_reads_nothing_holds_nothing_up_and_then_gets_the_latest():
    async def work(progress):
        for step in range(1_000):
            progress.step(step + 1, 1_000)
            await asyncio.sleep(0)
        await asyncio.sleep(0.3)
        return Answer("{}", 0)

    async def scenario():
        caller = Caller()
        await caller.hear(work)
        return caller

    caller = asyncio.run(scenario())
    assert len(caller.got) < 30
    assert events_in(caller.text)[-2:] == [
        ("step", {"images": 0, "done": 0, "step": 1_000, "steps": 1_000}),
        ("done", {}),
    ]


def test_a_mistake_of_ours_is_told_without_its_words_and_raised_for_the_log():
    async def work(progress):
        progress.waits(0)
        await asyncio.sleep(0.2)
        raise ZeroDivisionError("SECRET")

    async def scenario():
        caller = Caller()
        with pytest.raises(ZeroDivisionError):
            await caller.hear(work)
        return caller.text

    name, body = events_in(asyncio.run(scenario()))[-1]
    assert (name, body["error"]["code"]) == ("error", "internal")
    assert "SECRET" not in str(body)
