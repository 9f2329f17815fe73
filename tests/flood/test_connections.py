"""Connections that are slow, many or silent; each is ended in time, and an honest caller is answered meanwhile."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flood.servers import KEY, MIB, LightServer, Start, running, wait
from pcevolve_shared import wire
from support.processes import free_port

HEAD = b"POST /v1/stable-diffusion/image-to-image HTTP/1.1\r\nHost: localhost\r\n"
MOST_SECONDS = 20  # far above every limit that is set here, far below what an unlimited server would take


def drip(connection: socket.socket, text: bytes, gap: float = 0.1) -> float:
    """Send a byte after the other until the peer ends the connection; return after how many seconds it did."""
    begun = time.monotonic()
    connection.settimeout(gap)
    while time.monotonic() < begun + MOST_SECONDS:
        try:
            connection.sendall(text[:1] or b"x")
            text = text[1:]
            if connection.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


def answer(connection: socket.socket) -> tuple[int, dict[str, str], dict]:
    """Return status, headers and the error of the answer that ends a connection."""
    received = b""
    connection.settimeout(MOST_SECONDS)
    while part := connection.recv(MIB):
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split()[1]), headers, wire.ErrorResponse.model_validate_json(body).model_dump()["error"]


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightServer]:
    """A server that waits a second where others wait longer."""
    with running(tmp_path_factory.mktemp("impatient"), header_seconds=1, body_seconds=1) as server:
        yield server


def test_a_head_that_does_not_end_is_cut_off(impatient: LightServer):
    with impatient.connect() as connection:
        assert drip(connection, b"GET /healthz HTTP/1.1\r\nX-Slow: ") < MOST_SECONDS / 2


def test_a_later_head_that_does_not_end_is_cut_off_too(impatient: LightServer):
    with impatient.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(4096)
        assert drip(connection, b"GET /healthz HTTP/1.1\r\nX-Slow: ") < MOST_SECONDS / 2


def test_a_connection_on_which_nothing_comes_is_closed(impatient: LightServer):
    with impatient.connect() as connection:
        connection.settimeout(MOST_SECONDS)
        assert connection.recv(1) == b""


def test_a_body_that_does_not_end_is_answered_408(impatient: LightServer):
    with impatient.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n{")
        status, headers, error = answer(connection)
    assert (status, error["code"], headers["connection"]) == (408, "request_timeout", "close")


def test_a_long_body_has_more_time_than_a_short_one(impatient: LightServer):
    with impatient.connect() as connection:
        begun = time.monotonic()
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * 4 * 65536)
        assert answer(connection)[0] == 408
        assert time.monotonic() - begun > 4


def test_who_lacks_the_key_is_answered_once_a_connection(locked: LightServer):
    for path in (b"/openapi.json", b"/v1/models"):
        with locked.connect() as connection:
            connection.sendall((b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n") * 100)
            connection.settimeout(MOST_SECONDS)
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(MIB):
                    received += part
        assert received.count(b"HTTP/1.1 ") == 1


def test_a_connection_too_many_takes_the_place_of_an_idle_one(start: Start):
    server = start(max_connections=4)
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(4)]
        for _ in range(6):
            assert server.ask("GET", wire.HEALTH)[0] == 200
        idle[0].settimeout(MOST_SECONDS)
        with contextlib.suppress(ConnectionResetError):
            assert idle[0].recv(1) == b""


def test_where_all_connections_are_busy_one_more_is_answered_503(start: Start):
    server = start(max_connections=4)
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            busy = stack.enter_context(server.connect())
            busy.sendall(HEAD + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
            assert b" 100 " in busy.recv(4096)
        with server.connect() as connection:
            status, headers, error = answer(connection)
    assert (status, error["code"], error["type"]) == (503, "too_many_connections", "server_error")
    assert int(headers["retry-after"]) >= 1
    wait(lambda: server.ask("GET", wire.HEALTH)[0] == 200, MOST_SECONDS)


def has_no_room(server: LightServer, count: int) -> bool:
    """True if a server has no room for a body of so many bytes, of which none is sent."""
    with server.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % count)
        return b" 429 " in connection.recv(4096)


def test_all_bodies_together_are_bounded_and_the_room_comes_back(start: Start):
    server = start(max_buffered_mib=22)
    fill = b" " * 20_000_000
    with server.connect() as first, server.connect() as second:
        first.sendall(HEAD + b"Content-Length: 20000001\r\n\r\n" + fill)
        wait(lambda: has_no_room(server, 22 * MIB - len(fill) + 1), MOST_SECONDS)
        second.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1312d00\r\n" + fill)
        status, headers, error = answer(second)
        assert (status, error["code"], error["type"]) == (429, "bodies_full", "rate_limit_error")
        assert int(headers["retry-after"]) >= 1
    wait(lambda: server.ask("POST", wire.IMAGE_TO_IMAGE, fill)[0] in {413, 422}, MOST_SECONDS)


def test_who_sends_all_of_a_refused_body_still_reads_why(locked: LightServer):
    for path, code in ((wire.IMAGE_TO_IMAGE, "invalid_api_key"), (wire.HEALTH, "request_too_large")):
        _, body = locked.ask("POST", path, bytes(16 * MIB))
        assert json.loads(body)["error"]["code"] == code


def test_with_a_key_a_page_of_any_origin_is_served(locked: LightServer):
    foreign = {"Origin": "https://app.example", "Sec_Fetch_Site": "cross-site"}
    assert locked.ask("GET", wire.MODELS, Authorization=f"Bearer {KEY}", **foreign)[0] == 200
    assert locked.ask("GET", wire.MODELS, **foreign)[0] == 401


def test_thousands_of_connections_at_once_leave_the_server_file_descriptors(tmp_path: Path):
    """Connections that wait are accepted before any of them is counted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with running(tmp_path, header_seconds=2) as server, contextlib.ExitStack() as stack:
        assert server.process is not None
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server.process.send_signal(signal.SIGSTOP)  # for as long, a busy event loop does not accept
        for _ in range(1500):
            crowd = stack.enter_context(socket.socket())
            crowd.setblocking(False)
            crowd.connect_ex(("127.0.0.1", server.port))
        server.process.send_signal(signal.SIGCONT)
        wait(lambda: _answers(server), MOST_SECONDS)
        assert '"level": "error"' not in server.log.read_text()


def test_with_a_key_a_server_has_any_name(locked: LightServer):
    assert locked.ask("GET", wire.MODELS, Host="api:8000", Authorization=f"Bearer {KEY}")[0] == 200


def test_a_log_that_nobody_reads_does_not_stop_the_server(tmp_path: Path):
    """A pipe holds 64 KiB: a few hundred lines of the log."""
    script, port = Path(__file__).with_name("light_server.py"), free_port()
    command = [sys.executable, str(script), json.dumps({"port": port})]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        server = LightServer(tmp_path / "log", {}, process, port)
        try:
            wait(lambda: _answers(server), MOST_SECONDS)
            statuses = {server.ask("GET", wire.HEALTH)[0] for _ in range(1000)}
        finally:
            process.terminate()
            assert process.wait(MOST_SECONDS) == 0
    assert statuses == {200}


def _answers(server: LightServer) -> bool:
    with contextlib.suppress(OSError):
        return server.ask("GET", wire.READY)[0] == 200
    return False
