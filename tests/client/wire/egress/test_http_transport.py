"""The real transport against a real socket: exactly the given bytes, bounded answers, no habits."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.wire.egress.address import Address, Route
from pcevolve.wire.egress.http_transport import (
    MAX_BYTES_BESIDE_IMAGES,
    HttpTransport,
    join_bounded,
    max_answer_bytes,
    require_mostly_images,
)
from pcevolve.wire.egress.transport import ADVICE, ConnectionTroubleError
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve_shared import limits
from support.certificates import self_signed
from support.online import LocalServer, answer_json
from support.provider import png


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


def test_a_closed_port_is_told_plainly():
    with pytest.raises(ConnectionTroubleError, match="connection refused"):
        HttpTransport(5).send(Address("http://127.0.0.1:9").outgoing(REQUEST))


class Secure(LocalServer):
    """A local server behind TLS; which hands on nothing that is no TLS."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(lambda heard: answer_json(200, {"data": []}))
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = self.address.replace("http:", "https:")


@contextmanager
def serve_with(certificate: Path) -> Iterator[Secure]:
    """A server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.parent / "key.pem")
    server = Secure(context)
    yield server
    server.close()


@pytest.fixture
def secure(tmp_path) -> Iterator[tuple[Path, Secure]]:
    certificate = self_signed(tmp_path)
    with serve_with(certificate) as server:
        yield certificate, server


@pytest.mark.parametrize(
    ("host", "begins", "reason"),
    [
        ("192.0.2.1", -1, "the certificate is another host's"),
        ("127.0.0.1", -9, "the certificate is out of date"),
        ("127.0.0.1", 9, "the certificate is out of date"),
    ],
)
def test_a_certificate_that_no_authority_mends_is_told_as_what_it_is(tmp_path, host, begins, reason):
    certificate = self_signed(tmp_path, address=host, begins=begins)
    with serve_with(certificate) as server, pytest.raises(ConnectionTroubleError) as error:
        HttpTransport(5, Route(ca_file=certificate)).send(Address(server.url).outgoing(REQUEST))
    assert error.value.reason == reason
    assert "ca_file" not in ADVICE[error.value.reason]


def test_a_certificate_of_ones_own_authority_is_trusted_where_it_is_named_alone(secure, monkeypatch):
    certificate, server = secure
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))  # anybody's word in the environment is none
    asked = Address(server.url).outgoing(REQUEST)
    assert HttpTransport(5, Route(ca_file=certificate)).send(asked).status == 200
    with pytest.raises(ConnectionTroubleError) as error:
        HttpTransport(5).send(asked)
    assert error.value.reason == "the certificate is not trusted"
    assert "provider.ca_file" in ADVICE[error.value.reason]


def test_a_file_without_certificates_is_refused_by_name(tmp_path):
    (tmp_path / "ca.pem").write_text("not one")
    asked = Address("https://127.0.0.1:9").outgoing(REQUEST)
    with pytest.raises(UsageError, match=r"ca\.pem contains no certificate"):
        HttpTransport(5, Route(ca_file=tmp_path / "ca.pem")).send(asked)
    with pytest.raises(UsageError, match=r"gone\.pem cannot be read"):
        assert Route(ca_file=tmp_path / "gone.pem").authority


def test_https_to_a_port_that_speaks_http_is_told_so():
    server = LocalServer(lambda heard: answer_json(200, {}))
    with pytest.raises(ConnectionTroubleError) as error:
        HttpTransport(5).send(Address(server.address.replace("http:", "https:")).outgoing(REQUEST))
    server.close()
    assert error.value.reason == "that port speaks no TLS"


class Proxy:
    """Carries one connection to where it is asked to, and keeps what it was asked."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.asked = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        near, _ = self._socket.accept()
        while b"\r\n\r\n" not in self.asked:
            self.asked += near.recv(65536)
        host, _, port = self.asked.split()[1].decode().partition(":")
        far = socket.create_connection((host, int(port)))
        near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
        back.start()
        self._carry(near, far)
        back.join(5)

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)


def test_a_proxy_carries_what_it_cannot_read_and_the_environments_is_not_used(secure, monkeypatch):
    certificate, server = secure
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    asked = Address(server.url, "k3y").outgoing(REQUEST)
    assert HttpTransport(5, Route(ca_file=certificate)).send(asked).status == 200
    proxy = Proxy()
    assert HttpTransport(5, Route(certificate, proxy.url)).send(asked).status == 200
    assert proxy.asked.startswith(b"CONNECT 127.0.0.1:")
    assert b"k3y" not in proxy.asked
    assert b"/v1/x" not in proxy.asked


def test_a_proxy_that_is_not_there_is_not_taken_for_the_api(secure):
    certificate, server = secure
    with pytest.raises(ConnectionTroubleError) as error:
        HttpTransport(5, Route(certificate, "http://127.0.0.1:9")).send(Address(server.url).outgoing(REQUEST))
    assert error.value.reason == "the proxy is not there"


def answer(count: int, length: int, prefix: str = "", escaped: bool = False) -> bytes:
    text = prefix + base64.b64encode(b"\xff" * length).decode()
    listed = json.dumps({"images": [{"image": text, "seed": place} for place in range(count)], "cost": 0})
    return (listed.replace("/", "\\/") if escaped else listed).encode()


@pytest.mark.parametrize("body", [b"[" + b"[]," * 2**20, b" " * 2**21, answer(3000, 1000)])
def test_bulk_that_is_no_image_is_refused(body):
    with pytest.raises(ProviderReplyError, match="larger than 1 MiB without its images"):
        require_mostly_images(body)


def test_an_answer_that_is_an_image_may_be_long():
    require_mostly_images(png(1) + b"\0" * 2**21)


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", "data:image/png;charset=utf-8;base64,"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_an_image_in_any_spelling_of_base64_may_be_long(encode, prefix):
    listed = json.dumps({"image": prefix + encode(b"\xfb\xff\xbf\x01" * 2**19).decode(), "cost": 0})
    require_mostly_images(listed.encode())
    require_mostly_images(listed.replace("/", "\\/").replace("\\n", "\\r\\n").encode())


def test_what_arrives_is_joined_up_to_its_bound_and_nothing_is_taken_beyond():
    parts = iter([b"ab"] * 100)
    with pytest.raises(ProviderReplyError, match="is larger than"):
        join_bounded(parts, 5)
    assert len(list(parts)) == 97
    assert join_bounded([b"ab", b"cde"], 5) == b"abcde"


@pytest.mark.parametrize(
    ("target", "success", "most"),
    [
        ("/v1/chat/completions", True, MAX_BYTES_BESIDE_IMAGES),
        ("/v1/chat/completions", False, MAX_BYTES_BESIDE_IMAGES),
        ("/v1/images/generations", True, limits.MAX_RESPONSE_BYTES),
        ("/v1/images/generations", False, MAX_BYTES_BESIDE_IMAGES),
    ],
)
def test_only_answers_that_may_hold_images_may_be_long(target: str, success: bool, most: int):
    assert max_answer_bytes(target, success) == most


@pytest.mark.parametrize(("seconds", "connect"), [(600.0, 10.0), (3.0, 3.0)])
def test_an_address_that_is_not_there_is_waited_for_ten_seconds_at_most(monkeypatch, seconds, connect):
    heard: list[httpx.Request] = []

    def hear(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        heard.append(request)
        raise httpx.ConnectTimeout("nobody there")

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", hear)
    with pytest.raises(ConnectionTroubleError, match="no connection in time"):
        HttpTransport(seconds).send(Address("http://127.0.0.1:9").outgoing(REQUEST))
    rest = dict.fromkeys(("read", "write", "pool"), seconds)
    assert heard[0].extensions["timeout"] == {"connect": connect, **rest}
