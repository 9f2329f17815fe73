"""A page about the run that is under way, for its owner's browser: this machine alone, with a secret in the address.

It reads the record and what the progress bar is told, both of which are public. A thread of its own serves it; whatever
happens to that, or to the browser, the run goes on. Connections have the API server's bounds: a process that opens
thousands, sends no whole request or takes no answer leaves the client its file descriptors.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from rich.console import Console

from pcevolve.pages.live import Standing, render_live
from pcevolve.session.folder import RunFolder
from pcevolve.session.progress import Progress
from pcevolve.transcript import RunReader
from pcevolve_shared.browsers import is_foreign

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Type": "text/html; charset=utf-8",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
CONNECTIONS = 128
"""Open at a time; one more takes the place of the oldest whose request is not there yet, or else of the oldest."""
BACKLOG = 1024
"""Connections that the kernel keeps waiting, so that a browser among many is not told to come back."""
HEAD_BYTES = 16 * 2**10
"""Of a request."""
HEAD_SECONDS = 10.0
"""From a connection's start to the end of its request's head; bytes between do not begin it anew."""
ANSWER_SECONDS = 60.0
"""For the peer to take its answer."""
LOOKED_SECONDS = 5.0
"""After a request for so long somebody is taken to be looking."""
FAREWELL_SECONDS = 3.0
"""For so long the last page waits to be fetched by somebody who is looking."""
POLL_SECONDS = 0.05


@dataclass(eq=False)
class Dashboard:
    """The data that the page is made from."""

    root: Path
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    standing: Standing = field(default_factory=Standing)
    _made: tuple[object, bytes] = (None, b"")
    _looked: float = -LOOKED_SECONDS
    _fetched: Standing | None = None

    def take_in(self, progress: Progress) -> None:
        """Take what the progress bar is told."""
        self.standing = replace(self.standing, left=progress.left, cost=progress.bill)

    def render(self) -> bytes:
        """The page as of now; made anew where the record has grown or something else is known."""
        log, standing = RunFolder(self.root).log, self.standing
        state = (log.stat().st_size if log.is_file() else None, standing)
        if state != self._made[0]:
            self._made = state, render_live(RunReader.lenient(self.root), standing)
        self._looked, self._fetched = time.monotonic(), standing
        return self._made[1]

    def end(self, how: str) -> None:
        """Say how the run ended, and wait a little for somebody who is looking to see it."""
        self.standing = replace(self.standing, left="", over=how)
        deadline = time.monotonic() + FAREWELL_SECONDS
        while self._is_watched and self._fetched != self.standing and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    @property
    def _is_watched(self) -> bool:
        return time.monotonic() - self._looked < LOOKED_SECONDS


@contextmanager
def serve_dashboard(root: Path, console: Console) -> Iterator[Dashboard]:
    """Serve the page of a run while it goes on, at any free port; ``OSError`` without a port or a descriptor."""
    board, over = Dashboard(root), Future[None]()
    listener = socket.create_server((HOST, 0), backlog=BACKLOG)
    port = listener.getsockname()[1]
    thread = threading.Thread(
        target=asyncio.run, args=(_listen(board, listener, over),), name="dashboard", daemon=True
    )
    thread.start()
    console.print(f"dashboard, on this machine alone: http://{HOST}:{port}/{board.token}/")
    try:
        yield board
    except BaseException:
        board.end("The run was cut off")
        raise
    else:
        board.end("The run is finished")
    finally:
        over.set_result(None)
        thread.join()


async def _listen(board: Dashboard, listener: socket.socket, over: Future[None]) -> None:
    """Answer whoever comes, until it is over; what is open then is closed with the loop."""
    # What goes wrong here is nothing that the owner of a run has to see on the terminal.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    port = listener.getsockname()[1]
    with listener:
        listener.setblocking(False)
        accepting = asyncio.create_task(_Connections(partial(_answer, board, port)).accept(listener))
        await asyncio.wrap_future(over)
        accepting.cancel()


class _Connections:
    """The connections of a listener, one request each, within bounds on their number, time and bytes."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer, self._loop = answer, asyncio.get_running_loop()
        self._open: dict[socket.socket, asyncio.Task[None]] = {}  # the oldest first
        self._asked: set[socket.socket] = set()  # those of them whose request is there

    async def accept(self, listener: socket.socket) -> None:
        """Serve one who comes after the other; asyncio's own server accepts many before it counts any."""
        while True:
            try:
                connection, _ = await self._loop.sock_accept(listener)
            except OSError:  # the process has no file descriptor left, or who came is gone
                await asyncio.sleep(POLL_SECONDS)
                continue
            if len(self._open) == CONNECTIONS:
                idle = (each for each in self._open if each not in self._asked)
                self._open.pop(next(idle, next(iter(self._open)))).cancel()
            self._open[connection] = asyncio.create_task(self._serve(connection))
            await asyncio.sleep(0)  # whoever gave way is closed before the next one is accepted

    async def _serve(self, connection: socket.socket) -> None:
        """Answer a connection's request and close it; without a whole head in time, close it."""
        try:
            with connection, suppress(OSError):  # a deadline's error is one too
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await self._head(connection)
                self._asked.add(connection)
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._loop.sock_sendall(connection, self._answer(head) if head else b"")
        finally:
            self._open.pop(connection, None)
            self._asked.discard(connection)

    async def _head(self, connection: socket.socket) -> bytes:
        """A request's head; nothing where it is too long, or where the peer ends before it does."""
        head = b""
        while b"\r\n\r\n" not in head:
            part = await self._loop.sock_recv(connection, HEAD_BYTES - len(head))
            if not part:  # the end, or no room left
                return b""
            head += part
        return head


def _answer(board: Dashboard, port: int, head: bytes) -> bytes:
    class Handler(BaseHTTPRequestHandler):
        """Reads a request from memory and writes its answer there; no socket is in its hands."""

        server_version, sys_version = "pcevolve", ""
        wfile: io.BytesIO

        def setup(self) -> None:
            """Take the head for the request."""
            self.rfile, self.wfile = io.BytesIO(head), io.BytesIO()

        def finish(self) -> None:
            """Leave the answer to be read."""

        def do_GET(self) -> None:
            """The page, to whoever knows its address."""
            if (refused := _refusal(board, port, self)) is not None:
                self._answer(refused)
                return
            try:
                page = board.render()
            except Exception:  # noqa: BLE001 - whatever it is, the run goes on and the next look may see more
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE)
                return
            tag = f'"{hashlib.sha256(page).hexdigest()}"'
            if self.headers.get("If-None-Match") == tag:
                self._answer(HTTPStatus.NOT_MODIFIED, tag=tag)
            else:
                self._answer(HTTPStatus.OK, page, tag)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing: the address is a secret."""

        def _answer(self, status: HTTPStatus, body: bytes = b"", tag: str = "") -> None:
            self.send_response(status)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            if tag:
                self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    nobody: Any = None
    return Handler(nobody, nobody, nobody).wfile.getvalue()


def _refusal(board: Dashboard, port: int, request: BaseHTTPRequestHandler) -> HTTPStatus | None:
    """Return the status that refuses a request: another site's page made it, or it lacks the secret."""
    host = request.headers.get("Host")
    if host not in {f"{HOST}:{port}", f"localhost:{port}"}:  # the page came here by a name of its own
        return HTTPStatus.MISDIRECTED_REQUEST
    if is_foreign(host, request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")):
        return HTTPStatus.FORBIDDEN
    if not hmac.compare_digest(request.path.encode(), f"/{board.token}/".encode()):
        return HTTPStatus.NOT_FOUND
    return None
