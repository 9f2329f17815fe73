"""Real processes: the API server with the bundled model, and the client's command line; for tests only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.forking import API_SERVER, CLIENT, Command
from support.forkserver import ForkServer, Started, environment_of_tests
from support.typed import spell_words

BIN = Path(sys.executable).parent
MODEL = os.environ.get("PCEVOLVE_TEST_MODEL", "bundled")  # a smaller one while developing
READY_SECONDS = 180
RUN_SECONDS = 400


def ledger_of(out: Path) -> Path:
    """The ledger of a run that has one of its own; it lies in a folder of its own."""
    return out.with_name(f"{out.name}-ledger") / "ledger.sqlite"


@dataclass
class ServerProcess:
    """An API server that can be killed and started again on the same port; a fork that has done the imports.

    Attributes:
        log: Standard output and standard error of every start, one after the other.
        forks: What starts the process.
        port: A free one if 0.
        arguments: Added to the command's; the last of an option counts.
        models: What it serves; the first is called ``bundled`` unless the arguments say otherwise.
        first: See ``Job``.
    """

    log: Path
    forks: ForkServer
    port: int = 0
    arguments: tuple[object, ...] = ()
    models: tuple[object, ...] = (MODEL,)
    first: tuple[str, Any] | tuple[()] = ()
    process: Started | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, ready: bool = True) -> None:
        self.port = self.port or free_port()
        models = [word for each in self.models for word in ("--model", each)]
        options = ["serve", *models, "--model-id", "bundled", "--port", self.port, *self.arguments]
        outputs = (self.log, self.log)
        self.process = self.forks.start(
            options, os.environ, outputs, first=self.first, command=API_SERVER, append=True
        )
        if ready:
            self.wait_ready()

    def wait_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            try:
                with urllib.request.urlopen(f"{self.address}/readyz", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.2)
        raise AssertionError(self.log.read_text())

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Client:
    """The command line with a state folder of its own; each command is a fork of a process that has done the imports.

    Attributes:
        home: Where the state folder is.
        address: Of the API.
        forks: What starts the processes.
        command: Which command line it is.
    """

    home: Path
    address: str
    forks: ForkServer
    command: Command = CLIENT

    def find_installed(self, *arguments: object) -> list[str]:
        """The installed command and its arguments."""
        return [str(BIN / self.command.name), *map(str, arguments)]

    def environment(self) -> dict[str, str]:
        return {**environment_of_tests(), "XDG_STATE_HOME": str(self.home / "state")}

    def as_installed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the installed command in a new interpreter, as a user does; takes seconds longer."""
        return subprocess.run(
            self.find_installed(*arguments),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.forks.run(arguments, self.environment(), RUN_SECONDS, command=self.command)

    def succeed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run what has to work."""
        done = self(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def start(self, *arguments: object) -> Started:
        return self.forks.start(arguments, self.environment(), command=self.command)

    def run_options(self, private: object, out: Path, **changes: object) -> list[object]:
        """A small run: two classes, four images each, three iterations, seeded on the wire."""
        options: dict[str, object] = {
            "private": private,
            "domain": "handwritten mark",
            "out": out,
            "method": "pcevolve",
            "api": self.address,
            "shots": 4,
            "candidates": 4,
            "iterations": 3,
            "steps": 2,
            "batch": 2,
            "seed": 11,
            "ledger": ledger_of(out),
        }
        return ["run", "--yes", *spell_words(**options | changes)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
