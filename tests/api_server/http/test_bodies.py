"""Request bodies: bounded one by one and together, and before a parser sees them."""

import asyncio

from pcevolve_server.errors import BusyError
from pcevolve_server.http.bodies import BodyMemory, Bounded
from pcevolve_shared import wire


def is_free(room, count):
    try:
        room.check(count)
    except BusyError:
        return False
    return True


def ask(room, parts, app):
    """Send a body in parts and return the statuses that came back."""
    coming = [{"type": "http.request", "body": each, "more_body": True} for each in parts]
    coming.append({"type": "http.request", "body": b"", "more_body": False})
    sent = []

    async def receive():
        return coming.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": wire.TEXT_TO_IMAGE, "headers": [], "state": {"request_id": "x"}}
    asyncio.run(Bounded(app, room, 5.0)(scope, receive, send))
    return [each["status"] for each in sent if "status" in each]


def test_a_body_counts_while_it_is_served_and_no_longer():
    room, seen = BodyMemory(100), []

    async def app(scope, receive, send):
        seen.append(((await receive())["body"], is_free(room, 70), is_free(room, 71)))

    assert ask(room, [b"x" * 10, b"y" * 20], app) == []
    assert seen == [(b"x" * 10 + b"y" * 20, True, False)]
    assert (is_free(room, 100), is_free(room, 101)) == (True, False)


def test_a_body_has_a_second_more_for_each_64_kib_that_came(monkeypatch):
    now, room = [0.0], BodyMemory(10**6)

    async def arrive(part, seconds):
        async def receive():
            if now[0]:
                await asyncio.sleep(seconds)
            now[0] = 1.0
            return {"type": "http.request", "body": part, "more_body": True}

        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "path": wire.IMAGE_TO_IMAGE, "headers": [], "state": {"request_id": "x"}}
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await Bounded(None, room, 0.05)(scope, receive, send)
        return sent[0]["status"], loop.time() - begun

    status, seconds = asyncio.run(arrive(b"x" * 2**14, 60))  # a quarter of a second for them
    assert status == 408
    assert 0.25 < seconds < 30


def test_a_body_that_finds_no_room_is_refused_and_leaves_what_it_had_taken():
    room = BodyMemory(25)
    assert ask(room, [b"x" * 10, b"y" * 20], None) == [429]
    assert (is_free(room, 25), is_free(room, 26)) == (True, False)
