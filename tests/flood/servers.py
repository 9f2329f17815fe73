"""A real server process, raw sockets that misbehave towards it, and what can be seen of it from outside."""

from __future__ import annotations

import http.client
import json
import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pcevolve_shared import wire

KEY = "correct-horse-battery-staple"
START_SECONDS = 60
MIB = 2**20

T = TypeVar("T")


@dataclass
class LightServer:
    """A server process without a model.

    Attributes:
        log: Where its log goes.
        settings: Those that differ from the defaults.
    """

    log: Path
    settings: dict[str, object]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    port: int = 0

    def start(self) -> None:
        """Start it and wait until it is ready."""
        script = Path(__file__).with_name("light_server.py")
        command = [sys.executable, str(script), json.dumps({"port": 0, **self.settings})]
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(command, stderr=sink, stdout=sink)
        self.port = wait(self._listening, START_SECONDS)
        wait(lambda: self.ask("GET", wire.READY)[0] == 200, START_SECONDS)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _listening(self) -> int:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        entries = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return next((entry["port"] for entry in entries if entry["event"] == "listening"), 0)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Return status and body of one whole request; underscores in names of headers are hyphens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """Return a connection on which nothing was sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    @contextmanager
    def growth(self) -> Iterator[Callable[[], int]]:
        """Yield a function that returns by how many bytes the process ever exceeded its memory of now."""
        assert self.process is not None
        proc = Path(f"/proc/{self.process.pid}")
        (proc / "clear_refs").write_text("5")  # the peak so far is forgotten
        before = _memory(proc, "VmRSS")
        yield lambda: _memory(proc, "VmHWM") - before

    @contextmanager
    def watch_health(self) -> Iterator[list[float]]:
        """Yield a list that gathers the seconds of every answer of ``/healthz`` meanwhile."""
        seconds: list[float] = []
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                begun, status = time.monotonic(), 0
                with suppress(OSError):
                    status, _ = self.ask("GET", wire.HEALTH)
                seconds.append(time.monotonic() - begun if status == 200 else math.inf)
                over.wait(0.01)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield seconds
        finally:
            over.set()
            watcher.join()


def _memory(proc: Path, name: str) -> int:
    line = next(line for line in (proc / "status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def wait(condition: Callable[[], T], seconds: float) -> T:
    """Return the first true value of ``condition``."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


Start = Callable[..., LightServer]


@contextmanager
def running(folder: Path, **settings: object) -> Iterator[LightServer]:
    """Yield a server with settings of its own."""
    server = LightServer(folder / "log", settings)
    try:
        server.start()
        yield server
    finally:
        server.stop()
