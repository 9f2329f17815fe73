"""A provider on a real socket that speaks the native wire, or writes texts, and at one moment does something else."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from pcevolve.wire.providers.chat import TRIAL
from pcevolve_shared import images, wire
from support.provider import png

Moment = Literal["hello", "trial", "first", "variation"]
MOMENTS: tuple[Moment, ...] = ("hello", "first", "variation")
SIZE = 16


@dataclass(frozen=True)
class Request:
    moment: Moment
    fields: dict[str, Any]
    writes: bool = False

    @property
    def count(self) -> int:
        """Images asked for; 0 for the greeting."""
        return 0 if self.moment == "hello" else int(self.fields.get("n", 1))


class Line:
    """The server's end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send(self, data: bytes) -> bool:
        """Send all of it; whether the client was still there."""
        with suppress(OSError):
            self.socket.sendall(data)
            return True
        return False

    def drip(self, data: bytes, seconds: float = 0.3) -> None:
        """Send byte by byte, with pauses, until the client has had enough."""
        pause = threading.Event()
        for byte in data:
            if not self.send(bytes([byte])) or self.gone():
                return
            pause.wait(seconds)

    def gone(self) -> bool:
        """True if the client hung up."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def reset(self) -> None:
        """End with a TCP reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """End."""
        with suppress(OSError):
            self.socket.close()


Act = Callable[[Line, Request], None]
"""Answers in place of the honest server."""


def honest(request: Request) -> bytes:
    """Body of an honest server."""
    if request.writes:
        return write(request)
    if request.moment == "hello":
        return json.dumps([model()]).encode()
    return body_of([png(request.fields["seed"] + k) for k in range(request.count)])


def write(request: Request) -> bytes:
    """Answer like an honest server that writes: its one model, or texts that differ by their seeds."""
    if request.moment == "hello":
        return json.dumps({"data": [{"id": "bundled"}]}).encode()
    if request.moment == "trial":
        return make_body(["word"] * request.count)
    seed = request.fields["seed"]
    names = [spell(seed + k) for k in range(request.count)]
    return make_body([f"text {name} of a hundred and {request.moment}" for name in names])


def spell(number: int) -> str:
    """A number in letters: in digits it would be taken for an id, in which texts may differ and be the same."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def make_body(texts: Sequence[object]) -> bytes:
    """The body that brings these texts, in an order."""
    return json.dumps({"choices": [{"message": {"content": each}} for each in texts]}).encode()


def body_of(made: list[bytes], single: bool | None = None) -> bytes:
    """The body that brings these images, in the shape for one of them or for several."""
    listed = [{"image": images.to_base64(each), "seed": 1} for each in made]
    alone = len(made) == 1 if single is None else single
    return json.dumps({**listed[0], "cost": 0.0} if alone else {"images": listed, "cost": 0.0}).encode()


def response(body: bytes, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """An HTTP response that keeps the connection."""
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def model(**changes: object) -> dict[str, object]:
    """The one model on offer."""
    known: dict[str, object] = {
        "id": "bundled",
        "name": "bundled",
        "family": "stable-diffusion",
        "pipelines": ["text-to-image", "image-to-image"],
        "base_resolution": {"width": SIZE, "height": SIZE},
    }
    return known | changes


@dataclass
class Heard:
    """The bytes that one connection brought, and the answers that went out on it."""

    data: bytearray = field(default_factory=bytearray)


class HostileProvider:
    """Listens on one port for its whole life; ``arm`` says how it misbehaves from now on.

    Args:
        writes: Whether it is a chat API.
    """

    def __init__(self, writes: bool = False) -> None:
        self._writes = writes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lines: list[Line] = []
        self.arm(None, None)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(
        self, moment: Moment | None, act: Act | None, times: int | None = None, greet: bytes = b""
    ) -> None:
        """Be honest, but for ``act`` in place of the answer at a moment.

        Args:
            moment: When.
            act: What.
            times: How often; None: always.
            greet: Sent on every new connection before anything was read.
        """
        for line in self._lines:
            line.close()
        self._lines = []
        self.heard: list[Heard] = []
        self._moment, self._act, self._left, self._greet = moment, act, times, greet

    def close(self) -> None:
        """Stop listening."""
        self.arm(None, None)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            line, heard = Line(connection), Heard()
            self._lines.append(line)
            self.heard.append(heard)
            threading.Thread(target=self._serve, args=(line, heard), daemon=True).start()

    def _serve(self, line: Line, heard: Heard) -> None:
        if self._greet:
            line.send(self._greet)
        with suppress(OSError, ValueError):
            while (request := _read(line.socket, heard.data, self._writes)) is not None:
                if self._act is not None and request.moment == self._moment and self._left != 0:
                    self._left = None if self._left is None else self._left - 1
                    self._act(line, request)
                else:
                    line.send(response(honest(request)))
        line.close()


def _read(connection: socket.socket, heard: bytearray, writes: bool) -> Request | None:
    """The next request; None when the client hung up."""
    start = len(heard)
    while (stop := heard.find(b"\r\n\r\n", start)) < 0:
        if not _more(connection, heard):
            return None
    head = bytes(heard[start:stop])
    sizes = [
        line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    ]
    end = start + len(head) + 4 + (int(sizes[0]) if sizes else 0)
    while len(heard) < end:
        if not _more(connection, heard):
            return None
    return _understand(head, bytes(heard[start + len(head) + 4 : end]), writes)


def _more(connection: socket.socket, heard: bytearray) -> bool:
    part = connection.recv(65536)
    heard += part
    return bool(part)


def _understand(head: bytes, body: bytes, writes: bool) -> Request:
    path = head.split(b" ", 2)[1].decode()
    if path == wire.MODELS:
        return Request("hello", {}, writes)
    if writes:
        fields = json.loads(body)
        if fields["messages"][-1]["content"] == TRIAL:
            return Request("trial", fields, writes)
        return Request("variation" if is_variation(body) else "first", fields, writes)
    return Request("first" if path == wire.TEXT_TO_IMAGE else "variation", json.loads(body))


def is_variation(body: bytes) -> bool:
    """True if a request to write holds a text with blanks."""
    return b"Fill in every blank" in body


class Bystander:
    """Another host: counts who calls, and nobody should."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.calls = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
