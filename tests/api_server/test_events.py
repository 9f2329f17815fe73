"""Progress as server-sent events: what is told, when, to whom, and what ends it."""

import asyncio
import json
import time

import pytest
from starlette.requests import Request

from pcevolve_server.errors import GenerationError
from pcevolve_server.http.answering import HEARTBEAT, Events, EventStream, asks_for_events
from pcevolve_server.http.rendering import Answer
from pcevolve_server.queue.progress import Progress, shown
from pcevolve_server.queue.waiting import Chunk, Waiting
from pcevolve_server.settings import Key
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import wire

ASK = {"model": "fake", "prompt": "a cat", "seed": 7}
EVENTS = {"Accept": "text/event-stream"}


async def _posted(client, ask=ASK):
    return (await asyncio.to_thread(client.post, wire.TEXT_TO_IMAGE, json=ask)).status_code


def events_in(body):
    """Names and data of whole events; comments are passed over."""
    blocks = [block.split("\n") for block in body.split("\n\n")]
    assert blocks.pop() == [""]
    events = [block for block in blocks if not block[0].startswith(":")]
    assert all(len(block) == 2 for block in events)
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def watched(client, ask=ASK, path=wire.TEXT_TO_IMAGE):
    response = client.post(path, json=ask, headers=EVENTS)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert wire.REQUEST_ID_HEADER in response.headers
    assert "Content-Length" not in response.headers
    return response, events_in(response.text)


def test_the_last_event_has_the_plain_answer(serve, fake):
    with serve(fake) as client:
        plain = client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 3})
        _, events = watched(client, ASK | {"n": 3})
    assert plain.headers["Content-Type"] == "application/json"
    assert events == [("running", {"images": 3, "done": 0}), ("done", plain.json())]


def test_who_waits_is_told_behind_how_many_images(serve, fake, wait):
    fake.gate.clear()
    with serve(fake) as client:
        running = client.portal.start_task_soon(_posted, client)
        wait(lambda: fake.batches)
        waiting = client.portal.start_task_soon(_posted, client, ASK | {"n": 4})
        wait(lambda: "pcevolve_queue_images 4.0" in client.get(wire.METRICS).text)
        last = client.portal.start_task_soon(asyncio.to_thread, watched, client)
        wait(lambda: "pcevolve_queue_images 5.0" in client.get(wire.METRICS).text)
        time.sleep(0.05)
        fake.gate.set()
        assert [running.result(), waiting.result()] == [200, 200]
        _, events = last.result()
    assert events[0] == ("queued", {"images": 1, "done": 0, "ahead": 4})


def test_openais_spelling_ends_in_its_own_answer(serve, fake):
    with serve(fake) as client:
        _, events = watched(client, {"prompt": "a cat", "seed": 7}, wire.OPENAI_GENERATIONS)
    name, answer = events[-1]
    assert (name, set(answer), len(answer["data"])) == ("done", {"created", "data"}, 1)


def test_steps_reach_the_caller(serve, fake):
    fake.steps = 5
    with serve(fake) as client:
        _, events = watched(client)
    steps = [numbers for name, numbers in events if name == "step"]
    assert {(each["images"], each["done"], each["steps"]) for each in steps} == {(1, 0, 5)}
    assert [each["step"] for each in steps] == sorted({each["step"] for each in steps})


@pytest.mark.parametrize(
    ("change", "status"),
    [({"steps": 0}, 422), ({"model": "another"}, 404), ({"width": 2048, "height": 2048, "n": 64}, 422)],
)
def test_what_is_refused_before_it_waits_is_answered_as_ever(serve, fake, change, status):
    with serve(fake) as client:
        response = client.post(wire.TEXT_TO_IMAGE, json=ASK | change, headers=EVENTS)
    assert response.status_code == status
    assert wire.ErrorResponse.model_validate_json(response.content).error.message


def test_a_full_queue_is_told_with_its_status(serve, fake, wait):
    fake.gate.clear()
    with serve(fake, queue_steps=1) as client:
        first = client.portal.start_task_soon(_posted, client)
        wait(lambda: fake.batches)
        second = client.portal.start_task_soon(_posted, client)
        wait(lambda: "pcevolve_queue_images 1.0" in client.get(wire.METRICS).text)
        response = client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=EVENTS)
        fake.gate.set()
        assert [first.result(), second.result()] == [200, 200]
    assert (response.status_code, response.json()["error"]["code"]) == (429, "queue_full")
    assert "Retry-After" in response.headers


def test_what_fails_later_ends_in_the_contracts_error_and_is_counted_as_one(serve, fake):
    with serve(fake) as client:
        response, events = watched(client, ASK | {"prompt": "explode"})
        metrics = client.get(wire.METRICS).text
    name, body = events[-1]
    error = wire.ErrorResponse.model_validate_json(json.dumps(body)).error
    assert (name, error.code) == ("error", "generation_failed")
    assert error.request_id == response.headers[wire.REQUEST_ID_HEADER]
    assert "SECRET" not in response.text
    assert f'pcevolve_requests_total{{route="{wire.TEXT_TO_IMAGE}",status="500"}} 1.0' in metrics


def test_a_key_is_asked_for_all_the_same(serve, fake):
    with serve(fake, keys=(Key("correct-horse-battery-staple"),)) as client:
        assert client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=EVENTS).status_code == 401


@pytest.mark.parametrize(
    ("accept", "asked"),
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream; q=0.9", True),
        ("*/*", False),
        ("application/json", False),
        ("text/event-streams", False),
    ],
)
def test_events_are_for_those_who_name_them(accept, asked):
    headers = [(b"accept", accept.encode())]
    assert asks_for_events(Request({"type": "http", "headers": headers})) is asked


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


def test_a_heartbeat_is_sent_while_there_is_no_news():
    async def work(progress):
        progress.waits(0)
        await asyncio.sleep(0.5)
        return Answer("{}", 0)

    async def scenario():
        caller = Caller()
        await caller.hear(work, heartbeat_seconds=0.05)
        return caller.text

    text = asyncio.run(scenario())
    assert 2 <= text.count(HEARTBEAT.decode()) <= 8
    assert [name for name, _ in events_in(text)] == ["queued", "done"]


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
        for step in range(10_000):
            progress.stepped(step + 1, 10_000)
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
        ("step", {"images": 0, "done": 0, "step": 10_000, "steps": 10_000}),
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


def test_tokens_that_were_cut_are_told_before_the_answer():
    async def work(progress):
        return Answer("{}", 4)

    async def scenario():
        caller = Caller()
        await caller.hear(work)
        return caller.text

    assert events_in(asyncio.run(scenario())) == [("cut", {"tokens": 4}), ("done", {})]


def test_an_error_before_any_news_is_left_to_the_plain_answer():
    async def work(progress):
        raise GenerationError("at once")

    async def scenario():
        caller = Caller()
        with pytest.raises(GenerationError, match="at once"):
            await caller.hear(work)
        return caller.got

    assert asyncio.run(scenario()) == []


def test_images_of_a_request_are_counted_as_its_batches_end():
    async def scenario():
        mine, told = Progress(), []
        mine.expect(5)
        for count in (3, 2):
            mine.waits(4)
            told.append(mine.news())
            with shown([(mine, count), (None, 8)]) as step:
                mine.waits(0)  # the rest of it, which is no news while some of it runs
                told.append(mine.news())
                step(1, 2)
                told.append(mine.news())
        return told

    told = asyncio.run(scenario())
    assert [name for name, _ in told] == ["queued", "running", "step"] * 2
    assert [numbers["done"] for _, numbers in told] == [0, 0, 0, 3, 3, 3]
    assert told[3][1] == {"images": 5, "done": 3, "ahead": 4}


def test_images_ahead_are_those_of_the_same_key_and_as_many_of_each_other_and_a_batch():
    async def scenario():
        waiting, loop = Waiting(10**6, 10**6), asyncio.get_running_loop()

        def add(caller, images):
            progress = Progress()
            tasks = [Task(Recipe(8, 8), "p", "", seed) for seed in range(images)]
            waiting.add([Chunk(caller, [task], loop.create_future(), 0.0, progress) for task in tasks], 0)
            return progress

        big, later, alone = add("a", 1000), add("a", 1), add("b", 1)
        waiting.tell(16)
        return [progress.news()[1]["ahead"] for progress in (big, later, alone)]

    assert asyncio.run(scenario()) == [1, 1001, 16]


def test_the_published_schema_tells_of_both_answers(serve, fake):
    with serve(fake) as client:
        paths = client.get("/openapi.json").json()["paths"]
    for path in (wire.TEXT_TO_IMAGE, wire.IMAGE_TO_IMAGE, wire.IP_ADAPTER, wire.OPENAI_GENERATIONS):
        content = paths[path]["post"]["responses"]["200"]["content"]
        assert set(content) == {"application/json", "text/event-stream"}
