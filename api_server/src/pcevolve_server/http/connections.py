"""Limits on connections: their number, the time for a request's head, and the way in which a connection ends.

uvicorn has none of these limits. It accepts any number of connections, waits for a head without limit, and
receives a body that the app does not read. It resets a connection whose peer is still sending, and the answer is
lost.
"""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pcevolve_server.errors import CrowdedError
from pcevolve_server.http.middleware import raw_response

# Numbers of bytes parsed at a time. Parsing 4 KiB of a body in chunks of one byte takes 5 ms. Bytes that arrive with a
# head are parsed before the app can refuse the sender.
_READ_BYTES_OF_HEAD = 4 * 2**10
_READ_BYTES = 16 * 2**10
_LINGER_SECONDS = 5.0
_RETRY_SECONDS = 5


class _Lingering:
    """An asyncio transport that can be closed without losing the answer to a peer that is still sending.

    If the transport is closed while a body still arrives, it first closes only its sending side. For some seconds it
    then receives and drops the rest of the body. With an immediate close, the kernel would reset the connection and
    drop the answer.

    uvicorn writes head and body of an answer separately. This transport sends them with one system call.
    """

    def __init__(self, transport: asyncio.Transport, connection: h11.Connection) -> None:
        self._transport, self._connection, self._ended = transport, connection, False
        self._unsent: list[bytes] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._send)
        self._unsent.append(data)

    def _send(self) -> None:
        if self._unsent:
            data, self._unsent = b"".join(self._unsent), []
            self._transport.write(data)

    def close(self) -> None:
        if self.is_closing():
            return
        self._send()
        if self._connection.their_state is not h11.SEND_BODY:
            self._transport.close()
            return
        self._ended = True
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.close)
        self._transport.write_eof()
        self._transport.resume_reading()

    def is_closing(self) -> bool:
        return self._ended or self._transport.is_closing()


class BoundedProtocol(H11Protocol, asyncio.BufferedProtocol):
    """uvicorn's HTTP/1.1 with limits on the number of connections and on the time for a request's head.

    A buffered protocol chooses how many bytes it gets at a time. uvicorn's own protocol gets 256 KiB before the app
    can refuse any of them.

    Attributes:
        max_connections: Largest number of open connections.
        header_seconds: Longest time from a connection's start, or a later request's first byte, to the end of the head.
    """

    max_connections: ClassVar[int]
    header_seconds: ClassVar[float]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection or refuse it. If there are too many connections, replace an idle one."""
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._head: asyncio.TimerHandle | None = None
        self._lingering = _Lingering(transport, self.conn)
        self._idle_since = self.loop.time()
        super().connection_made(self._lingering)  # type: ignore[arg-type]
        self._time_head()
        # An idle connection goes first, so that a peer with many connections does not exclude others.
        if len(self.connections) > self.max_connections and not self._displace():
            error = CrowdedError("too many connections", retry_after_seconds=_RETRY_SECONDS)
            transport.write(raw_response(error))
            transport.close()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes. The buffer's size limits how many bytes are read."""
        return self._buffer[:_READ_BYTES_OF_HEAD] if self._awaits_head else self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse the next bytes, unless the connection is closing."""
        if not self._lingering.is_closing():
            self.data_received(bytes(self._buffer[:nbytes]))
            self._time_head()

    def on_response_complete(self) -> None:
        """Store the time from which the connection is idle, and continue like uvicorn."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End an idle connection now, and a busy one after its answer. A lingering connection ends by itself."""
        if self._lingering.is_closing():
            self._lingering.abort()
        else:
            super().shutdown()

    @property
    def _awaits_head(self) -> bool:
        return self.conn.their_state is h11.IDLE and not self._lingering.is_closing()

    def _time_head(self) -> None:
        """Start the clock when a head begins, and stop it at the head's end. Bytes in between do not reset it."""
        if not self._awaits_head:
            self._stop_head_timer()
        elif self._head is None:
            # The time counts from the first byte of a head to its last. If bytes reset the clock, a peer could hold the
            # connection for ever.
            self._head = self.loop.call_later(self.header_seconds, self._lingering.abort)

    def _stop_head_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _displace(self) -> bool:
        """Close the connection that has been idle for longest. Return whether there was one."""
        others = [each for each in self.connections if isinstance(each, BoundedProtocol) and each is not self]
        idle = [each for each in others if each._awaits_head]
        if idle:
            min(idle, key=lambda each: each._idle_since)._lingering.abort()
        return bool(idle)


def make_protocol(connections: int, head_seconds: float) -> type[BoundedProtocol]:

    class Protocol(BoundedProtocol):
        max_connections = connections
        header_seconds = head_seconds

    return Protocol
