"""The API server as its own process on this machine, for as long as it is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcevolve.errors import ProviderUnreachableError, UsageError, printable
from pcevolve.public.processes.serving import start_server, stop_server

SERVER = "pcevolve-server"
START_SECONDS = 300.0
"""Seconds in which the server must have loaded its model; on an idle machine, loading takes ten seconds."""
POLL_SECONDS = 0.05


@contextmanager
def serve_locally(log: Path, port: int = 0, model: str = "bundled") -> Iterator[str]:
    """Start the API server on loopback, yield its address once it is ready, and stop it at the end.

    Raises:
        UsageError: The server is not installed.
        ProviderUnreachableError: The server does not start.
    """
    command = shutil.which(SERVER, path=str(Path(sys.executable).parent)) or shutil.which(SERVER)
    if command is None:
        raise UsageError(
            f"{SERVER} is not installed on this machine: install the client and the server (make install)"
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = log.stat().st_size if log.exists() else 0
    arguments = [command, "serve", "--model", model, "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--engine", "processes", "--replicas", str(_replicas())]
    process = start_server(arguments, str(log))
    try:
        yield _address(process, log, begin)
    finally:
        stop_server(process)


def _replicas() -> int:
    """Return 2 on two cores or more, so that the server makes images while the client embeds others."""
    return min(2, os.cpu_count() or 1)


def _address(process: subprocess.Popen[bytes], log: Path, begin: int) -> str:
    """Wait until the server is ready, and return its address (``ProviderUnreachableError`` if it never is)."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        output = log.read_bytes()[begin:] if log.exists() else b""
        whole_lines = output.rpartition(b"\n")[0].splitlines()
        urls = [json.loads(line)["url"] for line in whole_lines if b'"event": "ready"' in line]
        if urls:
            return str(urls[-1])
        time.sleep(POLL_SECONDS)
    raise ProviderUnreachableError(f"{SERVER} is not ready{_reason(log, begin)}: see {log}")


def _reason(log: Path, begin: int) -> str:
    """Return the server's last message, which tells why it ended, such as a port in use; empty without one."""
    lines = log.read_bytes()[begin:].splitlines() if log.exists() else []
    words = [line.decode("utf-8", "replace") for line in lines if line.startswith(SERVER.encode() + b": ")]
    return f" ({printable(words[-1].partition(': ')[2])})" if words else ""
