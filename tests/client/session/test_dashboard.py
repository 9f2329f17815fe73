"""The live page: who gets it, what is on it, and that nothing about it can hurt the run."""

from __future__ import annotations

import io
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from pcevolve.session import dashboard as live
from pcevolve.session.dashboard import Dashboard, serve_dashboard
from pcevolve.session.progress import Progress
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_paid_run(tmp_path_factory.mktemp("live") / "run", small_plan())


@pytest.fixture(autouse=True)
def _no_farewell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "FAREWELL_SECONDS", 0.0)


@pytest.fixture
def address(run: Path) -> Iterator[str]:
    with serve(run) as found:
        yield found[0]


@contextmanager
def serve(root: Path) -> Iterator[tuple[str, Dashboard]]:
    """A dashboard and the address that the console is told."""
    said = io.StringIO()
    with serve_dashboard(root, Console(file=said, width=500)) as board:
        yield re.search(r"http://127\.0\.0\.1:\d+/\S+/", said.getvalue())[0], board


def test_whoever_knows_the_address_sees_the_run(address: str):
    page = httpx.get(address)
    assert page.status_code == 200
    assert 'id="releases"' in page.text
    assert page.text.count("data:image/jpeg") > 1
    assert httpx.get(address, headers={"If-None-Match": page.headers["ETag"]}).status_code == 304


def test_nobody_else_does(address: str):
    root, token = re.fullmatch(r"(http://[^/]+)/(.+)/", address).groups()
    near = (f"/{token}", f"/{token}x/", f"/{token[:-1]}/", f"/{token}/../", f"/{token}/private")
    for path in ("/", "/../../etc/passwd", *near):
        answer = httpx.get(httpx.URL(root).copy_with(raw_path=path.encode()))
        assert (answer.status_code, answer.content) == (404, b""), path
    assert len(token) >= 43


def test_a_page_that_came_here_under_a_name_of_its_own_is_refused(address: str):
    for host in ("evil.example", "evil.example:80", "127.0.0.1", "[::1]"):
        assert httpx.get(address, headers={"Host": host}).status_code == 421


def test_nothing_can_be_done_to_a_run(address: str):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert httpx.request(method, address).status_code == 501


def test_the_answer_may_not_be_kept_framed_or_sniffed(address: str):
    headers = httpx.get(address).headers
    said = {"Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff"}
    said |= {"Referrer-Policy": "no-referrer", "Server": "pcevolve"}
    assert {name: headers[name].strip() for name in said} == said


def test_it_listens_on_this_machine_alone(address: str):
    port = httpx.URL(address).port
    with socket.create_connection(("127.0.0.1", port)):
        pass
    with pytest.raises(ConnectionRefusedError):  # whoever listens on all addresses listens on this one too
        socket.create_connection(("127.0.0.2", port))


def test_a_page_of_another_origin_is_refused_although_it_knows_the_address(address: str):
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://attacker.example"},
        *({"Origin": origin} for origin in ("null", "http://localhost:8888", "http://127.0.0.1")),
    ):
        answer = httpx.get(address, headers=headers)
        assert (answer.status_code, answer.content) == (403, b""), headers
        assert "Access-Control-Allow-Origin" not in answer.headers
    own = str(httpx.URL(address).copy_with(path="")).rstrip("/")
    for headers in ({"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin", "Origin": own}):
        assert httpx.get(address, headers=headers).status_code == 200


def rest(connection: socket.socket) -> bytes:
    """Read until the end; nothing more once the connection is reset."""
    received = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    return received


def test_a_head_that_comes_by_bytes_has_ten_seconds(address: str):
    begun = time.monotonic()
    with connect(address) as connection, suppress(ConnectionError):
        connection.settimeout(0.5)
        while time.monotonic() < begun + 30:
            connection.sendall(b"x")
            with suppress(TimeoutError):
                if connection.recv(1) == b"":
                    break
    assert 9.5 < time.monotonic() - begun < 25


@pytest.mark.parametrize(("length", "status"), [(16_000, b"200"), (17_000, b"")])
def test_a_head_has_at_most_16_kib(address: str, length: int, status: bytes):
    head = request(address)[:-2] + b"X-Long: "
    with connect(address) as connection:
        connection.sendall(head + b"x" * (length - len(head) - 4) + b"\r\n\r\n")
        assert rest(connection)[9:12] == status


def test_one_connection_too_many_takes_the_place_of_the_oldest_that_asks_for_nothing(address: str):
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(address)) for _ in range(128)]
        stack.enter_context(connect(address))
        assert rest(idle[0]) == b""
        idle[1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            idle[1].recv(1)
        assert httpx.get(address).status_code == 200
        assert rest(idle[1]) == b""


def test_who_asked_is_answered_however_many_come_after(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "render_live", lambda *_: bytes(16 * 2**20))
    with serve(run) as (address, _), ExitStack() as stack:
        slow = stack.enter_context(connect(address))
        slow.sendall(request(address))
        received = slow.recv(1)
        for _ in range(300):
            stack.enter_context(connect(address))
        assert len(received + rest(slow)) > 16 * 2**20


def test_who_takes_nothing_of_an_answer_is_cut_off(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "render_live", lambda *_: bytes(16 * 2**20))
    monkeypatch.setattr(live, "ANSWER_SECONDS", 0.3)
    with serve(run) as (address, _), connect(address) as slow:
        slow.sendall(request(address))
        time.sleep(1)
        assert len(rest(slow)) < 16 * 2**20


def test_the_end_of_a_run_waits_for_no_connection(run: Path):
    with ExitStack() as stack:
        with serve(run) as (address, _):
            open_ones = [stack.enter_context(connect(address)) for _ in range(20)]
            open_ones[0].sendall(b"GET ")
            time.sleep(0.1)
            begun = time.monotonic()
        assert time.monotonic() - begun < 5
        assert [rest(each) for each in open_ones] == [b""] * 20


def connect(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", httpx.URL(address).port), timeout=20)


def request(address: str) -> bytes:
    url = httpx.URL(address)
    return f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\n\r\n".encode()


def test_what_cannot_be_shown_is_no_trouble_for_the_run(run: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*of: object) -> bytes:
        raise ZeroDivisionError

    with serve(run) as (address, board):
        monkeypatch.setattr(live, "render_live", broken)
        board.take_in(Progress(1, 4, 0, 2, 0.0))
        assert httpx.get(address).status_code == 503
        monkeypatch.undo()
        assert httpx.get(address).status_code == 200
