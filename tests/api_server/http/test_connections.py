"""A connection ends in peace: the peer gets its answer at once, and has to take it."""

from __future__ import annotations

import asyncio
import socket
import time

import h11
import uvicorn
from uvicorn.server import ServerState

from flood.servers import MIB
from pcevolve_server.http.connections import LingeringTransport, make_protocol
from pcevolve_server.server import bind

MOST_SECONDS = 20  # far above every limit that is set here, far below what an unlimited server would take


class Writer(asyncio.Protocol):
    """Writes more than the kernel takes, through the transport in question."""

    def __init__(self) -> None:
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.patient = LingeringTransport(transport, h11.Connection(h11.SERVER), stall_seconds=1)
        self.patient.write(bytes(16 * MIB))
        self.patient.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.patient.stop_clocks()
        self.lost.set_result(exc)


async def receive(take: int) -> tuple[int, float]:
    """Return what a peer got that takes ``take`` bytes each 0.1 s, and how many seconds the server kept it."""
    loop = asyncio.get_running_loop()
    writers: list[Writer] = []
    server = await loop.create_server(lambda: writers.append(Writer()) or writers[0], "127.0.0.1", 0)
    got, begun = 0, time.monotonic()
    with socket.create_connection(server.sockets[0].getsockname()) as peer:
        peer.setblocking(False)
        while take and (part := len(await loop.sock_recv(peer, take))):
            got += part
            await asyncio.sleep(0.1)
        while not (writers and writers[0].lost.done()) and time.monotonic() < begun + MOST_SECONDS:
            await asyncio.sleep(0.1)
    server.close()
    return got, time.monotonic() - begun


def test_a_peer_that_takes_nothing_of_its_answer_is_cut_off():
    assert asyncio.run(receive(0))[1] < MOST_SECONDS / 2


def test_a_peer_that_takes_its_answer_slowly_gets_all_of_it():
    assert asyncio.run(receive(MIB))[0] == 16 * MIB


def test_an_answers_body_does_not_wait_until_the_peer_has_confirmed_its_head():
    made = asyncio.Queue[asyncio.Transport]()

    class Watched(make_protocol(4, 60)):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            made.put_nowait(transport)

    async def ask() -> int:
        config = uvicorn.Config(lambda *_: None, http=Watched, log_config=None)
        config.load()
        listener = bind("127.0.0.1", 0)
        loop = asyncio.get_running_loop()
        served = await loop.create_server(
            lambda: Watched(config=config, server_state=ServerState(), app_state={}), sock=listener
        )
        _, writer = await asyncio.open_connection(*listener.getsockname())
        accepted = (await made.get()).get_extra_info("socket")
        found = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        served.close()
        return found

    assert asyncio.run(ask())
