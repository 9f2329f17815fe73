"""A connection ends in peace: the peer gets its answer at once, and has to take it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import h11
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pcevolve_server import server
from pcevolve_server.http.connections import BoundedProtocol, _Lingering, make_protocol

MIB = 2**20
MOST_SECONDS = 20  # far above every limit that is set here, far below what an unlimited server would take


@contextmanager
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection to the server's listener."""
    with (
        server.bind("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()) as peer,
        listener.accept()[0] as accepted,
    ):
        yield accepted, peer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_STALL_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux alone has it")
def test_a_peer_that_takes_nothing_of_its_answer_is_cut_off():
    with connection() as (accepted, _):
        accepted.settimeout(MOST_SECONDS)
        with pytest.raises(
            TimeoutError, match="Connection timed out"
        ):  # by the kernel, and not by the line above
            accepted.sendall(bytes(64 * MIB))


@pytest.mark.usefixtures("impatient")
def test_a_peer_that_takes_its_answer_slowly_gets_all_of_it():
    with connection() as (accepted, peer):
        sending = threading.Thread(target=lambda: (accepted.sendall(bytes(16 * MIB)), accepted.close()))
        sending.start()
        got = 0
        while part := len(peer.recv(MIB)):
            got += part
            time.sleep(0.1)
        sending.join()
    assert got == 16 * MIB


def test_an_answers_body_does_not_wait_until_the_peer_has_confirmed_its_head():
    with connection() as (accepted, _):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("state", "done"), [(h11.IDLE, ["close"]), (h11.SEND_BODY, ["write_eof", "resume_reading"])]
)
def test_a_connection_is_closed_at_once_unless_a_body_is_still_coming(state, done):
    called = []

    class Transport:
        def is_closing(self):
            return "close" in called

        def __getattr__(self, name):
            return lambda: called.append(name)

    async def scenario():
        lingering = _Lingering(Transport(), SimpleNamespace(their_state=state))
        assert not lingering.is_closing()
        lingering.close()
        lingering.close()
        return lingering.is_closing()

    assert asyncio.run(scenario())
    assert called == done


@pytest.mark.parametrize("closes", [False, True])
def test_an_answers_head_and_body_are_sent_with_one_call_and_before_the_end(closes):
    called = []

    async def scenario():
        transport = SimpleNamespace(
            write=called.append, close=lambda: called.append("end"), is_closing=lambda: False
        )
        lingering = _Lingering(transport, SimpleNamespace(their_state=h11.DONE))
        lingering.write(b"head, ")
        lingering.write(b"body")
        assert not called
        if closes:
            lingering.close()
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert called == ([b"head, body", "end"] if closes else [b"head, body"])


@pytest.mark.parametrize(("ends", "done"), [(False, ["as uvicorn does"]), (True, ["abort"])])
def test_a_server_that_stops_cuts_off_what_lingers_and_ends_all_else_as_uvicorn_does(monkeypatch, ends, done):
    called = []
    monkeypatch.setattr(H11Protocol, "shutdown", lambda self: called.append("as uvicorn does"))
    connection = object.__new__(BoundedProtocol)
    connection._lingering = SimpleNamespace(is_closing=lambda: ends, abort=lambda: called.append("abort"))
    connection.shutdown()
    assert called == done


def test_whoever_comes_when_all_connections_are_busy_is_told_so_and_others_are_served():
    async def scenario():
        release = asyncio.Event()

        async def app(scope, receive, send):
            await release.wait()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        config = uvicorn.Config(app, http=make_protocol(1, 5.0), lifespan="off", log_config=None)
        config.load()
        state = uvicorn.server.ServerState()
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: config.http_protocol_class(config=config, server_state=state, app_state={}), "127.0.0.1"
        )
        port = listener.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while not state.tasks:
            await asyncio.sleep(0.001)
        late, _ = await asyncio.open_connection("127.0.0.1", port)
        refused = await asyncio.wait_for(late.read(), 5)
        release.set()
        served = await asyncio.wait_for(reader.readuntil(b"\r\n"), 5)
        listener.close()
        writer.close()
        return refused, served

    refused, served = asyncio.run(scenario())
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"too_many_connections" in refused
    assert b"retry-after: 5" in refused.lower()
    assert served.startswith(b"HTTP/1.1 204")
