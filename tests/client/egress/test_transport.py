"""The real transport against a real socket: exactly the given bytes, bounded answers, no habits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from pcevolve.egress.transport import Address, ConnectionTroubleError, HttpTransport
from pcevolve.errors import UsageError
from pcevolve.providers.dialect import WireRequest


class RawServer:
    """Answers one connection with fixed bytes and keeps what it read."""

    def __init__(self, answer: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.heard = b""
        self._answer = answer
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            while b"\r\n\r\n" not in self.heard or not self.heard.endswith(b"}"):
                part = connection.recv(65536)
                if not part:
                    break
                self.heard += part
            connection.sendall(self._answer)

    def close(self) -> None:
        self._thread.join(5)
        self._socket.close()


@pytest.fixture
def serve() -> Iterator[object]:
    servers: list[RawServer] = []

    def start(answer: bytes) -> RawServer:
        servers.append(RawServer(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


REQUEST = WireRequest("POST", "/v1/x", b'{"a":1}')
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_the_wire_carries_exactly_the_recorded_bytes(serve):
    server = serve(OK)
    outgoing = Address(f"http://127.0.0.1:{server.port}", "k3y").outgoing(REQUEST)
    answer = HttpTransport(5).send(outgoing)
    head = "".join(f"{name}: {value}\r\n" for name, value in outgoing.headers)
    assert server.heard.decode() == f"POST /v1/x HTTP/1.1\r\n{head}\r\n" + '{"a":1}'
    assert len(server.heard) == outgoing.wire_bytes
    assert answer.body == b"{}"


def test_redirects_are_not_followed(serve):
    server = serve(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    answer = HttpTransport(5).send(Address(f"http://127.0.0.1:{server.port}").outgoing(REQUEST))
    assert answer.status == 302


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"no http at all\r\n\r\n"]
)
def test_an_answer_that_is_cut_off_or_not_http_may_be_tried_again(serve, answer):
    server = serve(answer)
    with pytest.raises(ConnectionTroubleError):
        HttpTransport(5).send(Address(f"http://127.0.0.1:{server.port}").outgoing(REQUEST))


def test_a_closed_port_is_told_plainly():
    with pytest.raises(ConnectionTroubleError, match="connection refused"):
        HttpTransport(5).send(Address("http://127.0.0.1:9").outgoing(REQUEST))


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "127.0.0.1:8000", "http://user:pw@host", "http://host/?q=1", "http://host/#f", "http://"],
)
def test_an_address_that_could_carry_more_than_a_place_is_refused(url):
    with pytest.raises(UsageError, match="--api"):
        Address(url)


def test_a_key_with_line_breaks_is_refused_and_not_repeated():
    with pytest.raises(UsageError, match="characters that cannot be sent") as error:
        Address("http://host", "se\ncret")
    assert "cret" not in str(error.value)
