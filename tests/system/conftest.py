"""Real processes: the API server with the bundled model, and the client's command line."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

BIN = Path(sys.executable).parent
MODEL = os.environ.get("PCEVOLVE_TEST_MODEL", "bundled")  # a smaller one while developing
READY_SECONDS = 180
RUN_SECONDS = 400


@dataclass
class ServerProcess:
    """An API server that can be killed and started again on the same port."""

    log: Path
    port: int = 0
    arguments: tuple[object, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, ready: bool = True) -> None:
        self.port = self.port or free_port()
        command = [
            BIN / "pcevolve-server",
            "serve",
            "--model",
            MODEL,
            "--model-id",
            "bundled",
            "--port",
            str(self.port),
        ]
        command += map(str, self.arguments)
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(command, stdout=sink, stderr=sink)
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

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Client:
    """The command line with a state folder of its own."""

    home: Path
    address: str

    def command(self, *arguments: object) -> list[str]:
        return [str(BIN / "pcevolve"), *map(str, arguments)]

    def environment(self) -> dict[str, str]:
        hidden = {key: value for key, value in os.environ.items() if not key.startswith("PCEVOLVE")}
        return {**hidden, "XDG_STATE_HOME": str(self.home / "state"), "COLUMNS": "200"}

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_options(self, private: object, out: Path, **changes: object) -> list[object]:
        """A small run: two classes, four images each, three iterations, seeded on the wire."""
        options: dict[str, object] = {
            "private": private,
            "domain": "handwritten mark",
            "out": out,
            "method": "pcevolve",
            "api": self.address,
            "candidates": 4,
            "iterations": 3,
            "steps": 4,
            "batch": 2,
            "seed": 11,
            "ledger": out.with_suffix(".ledger"),
        }
        given = {**options, **changes}
        return ["run", *[part for k, v in given.items() for part in (f"--{k.replace('_', '-')}", v)]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all tests that leave it alive."""
    process = ServerProcess(tmp_path_factory.mktemp("server") / "log")
    process.start()
    yield process
    process.kill()


@pytest.fixture
def client(tmp_path: Path, server: ServerProcess) -> Client:
    return Client(tmp_path, server.address)


def class_folders(
    root: Path, seed: int, labels: tuple[str, ...] = ("type A", "type B"), shots: int = 3
) -> Path:
    """Private images that nobody else has."""
    random = np.random.default_rng(seed)
    for label in labels:
        (root / label).mkdir(parents=True)
        for number in range(shots):
            pixels = random.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / label / f"secret-{seed}-{number}.png")
    return root


def events(run: Path) -> list[dict]:
    """The transcript's events."""
    log = run / "transcript" / "log.jsonl"
    return [json.loads(line)["event"] for line in log.read_bytes().splitlines()]


def released_files(run: Path) -> dict[str, bytes]:
    """The synthetic dataset."""
    return {p.relative_to(run).as_posix(): p.read_bytes() for p in sorted((run / "release").rglob("*.png"))}


def receipts(run: Path) -> list[dict]:
    """What was released, without the run's id."""
    found = [event["receipt"] for event in events(run) if event["kind"] == "released"]
    return [{key: value for key, value in each.items() if key != "run_id"} for each in found]
