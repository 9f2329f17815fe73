"""A page about the run that is under way, for its owner's browser: this machine alone, with a secret in the address.

It reads the record and what the progress bar is told, both of which are public. A thread of its own serves it; whatever
happens to that, or to the browser, the run goes on.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rich.console import Console

from pcevolve.pages.live import Standing, rendered_live
from pcevolve.run.folder import RunFolder
from pcevolve.run.progress import Progress
from pcevolve.transcript import RunReader

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Type": "text/html; charset=utf-8",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LOOKED_SECONDS = 5.0
"""After a request for so long somebody is taken to be looking."""
FAREWELL_SECONDS = 3.0
"""For so long the last page waits to be fetched by somebody who is looking."""
POLL_SECONDS = 0.05
MINUTE, HOUR = 60.0, 3600.0


@dataclass(eq=False)
class Dashboard:
    """What the page is made from.

    Attributes:
        root: The run's folder.
        token: The secret of the address.
        standing: What is known besides the record.
    """

    root: Path
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    standing: Standing = field(default_factory=Standing)
    _started: float = field(default_factory=time.monotonic)
    _first: int | None = None
    _made: tuple[object, bytes] = (None, b"")
    _looked: float = -LOOKED_SECONDS
    _fetched: Standing | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def told(self, progress: Progress) -> None:
        """Take what the progress bar is told."""
        if self._first is None:  # what was done before this process had begun tells nothing of its pace
            self._first, self._started = progress.images, time.monotonic()
        done = progress.images - self._first
        passed = time.monotonic() - self._started
        left = duration(passed / done * (progress.total - progress.images)) if done else ""
        cost = "" if progress.cost is None else f"{progress.cost:.4g}, as far as the API says"
        self.standing = replace(self.standing, left=left, cost=cost)

    def page(self) -> bytes:
        """The page as of now; made anew where the record has grown or something else is known."""
        log, standing = RunFolder(self.root).log, self.standing
        with self._lock:
            state = (log.stat().st_size if log.is_file() else None, standing)
            if state != self._made[0]:
                self._made = state, rendered_live(RunReader.lenient(self.root), standing)
            self._looked, self._fetched = time.monotonic(), standing
            return self._made[1]

    def over(self, how: str) -> None:
        """Say how the run ended, and wait a little for somebody who is looking to see it."""
        self.standing = replace(self.standing, left="", over=how)
        deadline = time.monotonic() + FAREWELL_SECONDS
        while self._is_watched and self._fetched != self.standing and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    @property
    def _is_watched(self) -> bool:
        return time.monotonic() - self._looked < LOOKED_SECONDS


@contextmanager
def dashboard(root: Path, console: Console, port: int = 0) -> Iterator[Dashboard]:
    """Serve the page of a run while it goes on.

    Args:
        root: The run's folder, which need not be there yet.
        console: Is told the address.
        port: Where; any free one if 0.

    Raises:
        OSError: The port is taken.
    """
    board = Dashboard(root)
    server = ThreadingHTTPServer((HOST, port), _handler(board))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="dashboard", daemon=True).start()
    console.print(f"dashboard, on this machine alone: http://{HOST}:{server.server_port}/{board.token}/")
    try:
        yield board
    except BaseException:
        board.over("The run was cut off")
        raise
    else:
        board.over("The run is finished")
    finally:
        server.shutdown()
        server.server_close()


def duration(seconds: float) -> str:
    """About how long, in words that seldom change."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < HOUR:
        return f"about {round(seconds / MINUTE)} min"
    return f"about {seconds / HOUR:.1f} h"


def _handler(board: Dashboard) -> type[BaseHTTPRequestHandler]:
    """Answers of one dashboard."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "pcevolve", ""
        timeout = 10.0

        def do_GET(self) -> None:
            """The page, to whoever knows its address."""
            refused = _refused(board, self)
            if refused is not None:
                self._answer(refused)
                return
            try:
                page = board.page()
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

    return Handler


def _refused(board: Dashboard, request: BaseHTTPRequestHandler) -> HTTPStatus | None:
    """Why a request is not answered: a page of somebody else's that came here by a name of its own, or no secret."""
    port = request.server.server_address[1]  # type: ignore[index]
    if request.headers.get("Host") not in {f"{HOST}:{port}", f"localhost:{port}"}:
        return HTTPStatus.MISDIRECTED_REQUEST
    if not hmac.compare_digest(request.path.encode(), f"/{board.token}/".encode()):
        return HTTPStatus.NOT_FOUND
    return None
