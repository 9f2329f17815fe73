"""Request bodies: the routes that take one, and limits on length, time and the memory of all bodies together."""

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcevolve_server.errors import AbandonedError, BusyError, RequestError, TooLargeError, TooSlowError
from pcevolve_server.http.middleware import OPEN_ROUTES, announces_body, error_response
from pcevolve_shared import limits, wire

_MOST_BYTES: Final = {
    wire.TEXT_TO_IMAGE: limits.MAX_FIELDS_BYTES,
    wire.OPENAI_GENERATIONS: limits.MAX_FIELDS_BYTES,
    wire.CHAT: limits.MAX_FIELDS_BYTES,
    wire.IMAGE_TO_IMAGE: limits.MAX_REQUEST_BYTES,
    wire.IP_ADAPTER: limits.MAX_REQUEST_BYTES,
    wire.OPENAI_EDITS: limits.MAX_REQUEST_BYTES,
}
_WITHOUT_BODY: Final = OPEN_ROUTES | {wire.MODELS, wire.BALANCE, wire.METRICS}
_LEAST_BYTES_PER_SECOND: Final = 64 * 2**10
_RETRY_SECONDS: Final = 5


class BodyMemory:
    """Counts the bytes of all requests' bodies, up to a limit."""

    def __init__(self, most_bytes: int) -> None:
        self._free = most_bytes

    def check(self, count: int) -> None:
        """Refuse ``count`` more bytes if there is no room for them.

        Raises:
            BusyError: There is no room.
        """
        if count > self._free:
            raise BusyError(
                "the server's memory for request bodies is full",
                code="bodies_full",
                retry_after_seconds=_RETRY_SECONDS,
            )

    def take(self, count: int) -> None:
        """Add ``count`` bytes to the sum.

        Raises:
            BusyError: There is no room for them. Nothing was counted.
        """
        self.check(count)
        self._free -= count

    def give_back(self, count: int) -> None:
        self._free += count


class _Held:
    """The body of one request while it arrives. Its bytes are counted until it is released."""

    def __init__(self, memory: BodyMemory, most_bytes: int) -> None:
        self._memory, self._most_bytes, self._count = memory, most_bytes, 0
        # If a body arrives byte by byte, a list of parts would take forty times the counted memory.
        self._buffer = bytearray()

    def __len__(self) -> int:
        return self._count

    def expect(self, declared: str) -> None:
        """Refuse a Content-Length that is too long, or for which there is no room now.

        Raises:
            TooLargeError: The announced body is longer than the route allows.
            BusyError: The bodies of other requests leave no room.
        """
        if declared.isdecimal():
            # Only 20 digits are read, which exceed any limit. Python refuses to parse more than some thousand digits.
            length = int(declared[:20])
            self._check_length(length)
            self._memory.check(length)

    def add(self, part: bytes) -> None:
        """Store the next bytes.

        Raises:
            TooLargeError: The body is now longer than the route allows.
            BusyError: There is no room for the bytes.
        """
        self._check_length(self._count + len(part))
        self._memory.take(len(part))
        self._count += len(part)
        self._buffer += part

    def whole(self) -> bytes:
        """Return and drop all bytes. They stay counted, because the request still holds them."""
        body, self._buffer = bytes(self._buffer), bytearray()
        return body

    def release(self) -> None:
        self._memory.give_back(self._count)

    def _check_length(self, length: int) -> None:
        if length > self._most_bytes:
            raise TooLargeError(f"the request body is longer than {self._most_bytes} bytes")


@dataclass(frozen=True)
class Bounded:
    """Reads a body within its limits and passes it on whole. Reads nothing on routes without a body.

    Attributes:
        app: The app that serves the request.
        memory: Shared by all requests.
        seconds: Longest time for a body to arrive. Each 64 KiB add one second.
    """

    app: ASGIApp
    memory: BodyMemory
    seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # A path without an entry may have no body.
        held = _Held(self.memory, _MOST_BYTES.get(scope["path"], 0))
        try:
            await self._serve(scope, receive, send, held)
        # The body is released in every case, because a leak would in the end refuse everybody.
        finally:
            held.release()

    async def _serve(self, scope: Scope, receive: Receive, send: Send, held: _Held) -> None:
        try:
            body = await self._body(scope, receive, held)
        except RequestError as error:
            await error_response(scope["state"]["request_id"], error)(scope, receive, send)
            return
        scope["state"]["bytes_in"] = len(body)
        await self.app(scope, _replay(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive, held: _Held) -> bytes:
        if scope["path"] in _MOST_BYTES:
            held.expect(Headers(scope=scope).get("Content-Length", "0"))
            return await self._read(receive, held)
        if scope["path"] in _WITHOUT_BODY and announces_body(scope):
            raise TooLargeError("this route takes no request body")
        return b""

    async def _read(self, receive: Receive, held: _Held) -> bytes:
        begun, more = asyncio.get_running_loop().time(), True
        try:
            async with asyncio.timeout(self.seconds) as patience:
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise AbandonedError("the caller closed the connection in the middle of the body")
                    held.add(message.get("body", b""))
                    more = message.get("more_body", False)
                    # The time grows with the bytes that have arrived: a slow but honest connection succeeds, and one
                    # byte a second does not.
                    patience.reschedule(begun + self.seconds + len(held) / _LEAST_BYTES_PER_SECOND)
        except TimeoutError:
            raise TooSlowError("the request body did not arrive in time") from None
        return held.whole()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a channel that delivers the body at once, and then the caller's later messages."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
