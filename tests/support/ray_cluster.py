"""The API server as a process before a Ray cluster, and the processes of that cluster; for tests only."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from pcevolve_server.settings import API_KEY_VARIABLE
from support.processes import free_port
from support.served import wait_until

BIN = Path(sys.executable).parent
STARTING_SECONDS = 400
STORE_BYTES = 80_000_000


def environment(**extra: str) -> dict[str, str]:
    """A user's, without settings of ours or Ray's, and without a network."""
    ours = ("PCEVOLVE_", "RAY_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return inherited | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"} | extra


class RayServer:
    """``pcevolve-server serve --engine ray``.

    Attributes:
        log: Standard error, in which each line is an event.
        port: Where it answers.
    """

    def __init__(self, folder: Path, *arguments: object, key: str = "", **extra: str) -> None:
        """Start it.

        Args:
            folder: For its output.
            arguments: Of the command.
            key: Of its API.
            extra: Of its environment.
        """
        extra |= {API_KEY_VARIABLE: key} if key else {}
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.log, self.port = folder / "server.log", free_port()
        command = [BIN / "pcevolve-server", "serve", "--engine", "ray", "--port", self.port, *arguments]
        with self.log.open("w") as log, (folder / "server.out").open("w") as out:
            self.process = psutil.Popen(
                [str(part) for part in command], env=environment(**extra), stdout=out, stderr=log
            )

    def wait_ready(self) -> None:
        wait_until(lambda: self.process.poll() is not None or self._is_ready(), STARTING_SECONDS)
        assert self.process.poll() is None, self.log.read_text()

    def _is_ready(self) -> bool:
        time.sleep(0.2)
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz").is_success
        return False

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["event"] == name]

    def ask(self, verb: str = "text-to-image", seconds: float = 120, **body: object) -> httpx.Response:
        url = f"http://127.0.0.1:{self.port}/v1/stable-diffusion/{verb}"
        return httpx.post(
            url, json={"prompt": "a b c", "seed": 1, **body}, headers=self._headers, timeout=seconds
        )

    def replicas(self) -> list[psutil.Process]:
        """Those that have the model and do not end."""
        return [each for each in descendants(self.process) if "ServeReplica" in "".join(each.cmdline()[:1])]

    def end(self) -> None:
        """End it and whatever it started, by force if it has to be."""
        started = descendants(self.process)
        with contextlib.suppress(psutil.Error):
            self.process.terminate()
            self.process.wait(20)
        end_all([*started, self.process])


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Of a process that may be gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return living(process.children(recursive=True))
    return []


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that can still do something."""
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def end_all(processes: list[psutil.Process]) -> None:
    """Kill processes and wait until they are gone."""
    for each in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive


@contextlib.contextmanager
def cluster() -> Iterator[dict[str, str]]:
    """A Ray cluster on loopback, as its owner starts one; yields the environment that lets others in."""
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # sockets' paths have to be short
        yield from _cluster(Path(folder))


def _cluster(folder: Path) -> Iterator[dict[str, str]]:
    port = free_port()
    known = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ADDRESS": f"127.0.0.1:{port}",
    }
    options = {"port": port, "num-cpus": 4, "object-store-memory": STORE_BYTES, "temp-dir": folder}
    # Its default is a port that another cluster on the machine may have.
    options |= {"ray-client-server-port": free_port(), "include-dashboard": "false"}
    command = [
        BIN / "ray",
        "start",
        "--head",
        "--block",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    with (folder / "ray.out").open("w") as out:
        head = psutil.Popen(list(map(str, command)), env=environment(**known), stdout=out, stderr=out)
    try:
        wait_until(lambda: head.poll() is not None or _answers(port), STARTING_SECONDS)
        assert head.poll() is None, (folder / "ray.out").read_text()
        yield known
    finally:
        end_all([*descendants(head), head])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def serve(config: Path, known: dict[str, str]) -> None:
    """Have a cluster serve what a Serve config says; it begins to, or begins to change over."""
    command = [BIN / "serve", "run", "--non-blocking", config]
    subprocess.run(
        list(map(str, command)), env=environment(**known), check=True, capture_output=True, timeout=120
    )
