"""The API server as a process of its own on this machine, for as long as something needs it.

Between both stands a process that ends the server when this one is gone, however it ended: this file, run as
``python local_server.py COMMAND...``. Its standard input is a pipe from here, which closes also after ``kill -9``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcevolve.errors import ProviderUnreachableError, UsageError

SERVER = "pcevolve-server"
STOP_SECONDS = 10.0
START_SECONDS = 300.0
"""For a machine that is busy: loading takes ten seconds on a quiet one."""
POLL_SECONDS = 0.05


@contextmanager
def serve_locally(log: Path, port: int = 0, model: str = "bundled") -> Iterator[str]:
    """Start the API server on loopback, yield its address once it is ready, and stop it in the end.

    Raises:
        UsageError: It is not installed.
        ProviderUnreachableError: It does not start.
    """
    command = shutil.which(SERVER, path=str(Path(sys.executable).parent)) or shutil.which(SERVER)
    if command is None:
        raise UsageError(
            f"{SERVER} is not installed here: a server on this machine needs both distributions (make install)"
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        begin = sink.tell()
        arguments = [command, "serve", "--model", model, "--host", "127.0.0.1", "--port", str(port)]
        arguments += ["--engine", "processes", "--replicas", str(_replicas())]
        guarded = [sys.executable, "-I", __file__, *arguments]  # the server ends with this process
        process = subprocess.Popen(guarded, stdin=subprocess.PIPE, stdout=sink, stderr=sink)  # noqa: S603 - our own
    try:
        yield _address(process, log, begin)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _replicas() -> int:
    """Two where there are two cores: while the client embeds, others of its images are made."""
    return min(2, os.cpu_count() or 1)


def _address(process: subprocess.Popen[bytes], log: Path, begin: int) -> str:
    """Wait until the server says where it answers, its model being in memory. Raises ``ProviderUnreachableError``."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        whole_lines = log.read_bytes()[begin:].rpartition(b"\n")[0].splitlines()
        told = [json.loads(line)["url"] for line in whole_lines if b'"event": "ready"' in line]
        if told:
            return str(told[-1])
        time.sleep(POLL_SECONDS)
    raise ProviderUnreachableError(f"{SERVER} is not ready: {log} says why")


def guard(command: list[str]) -> int:
    """Have a command run until standard input closes; its exit code, or minus the signal that ended it."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets Ctrl-C too; a handler is not inherited
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - the client's own command
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    return process.wait()


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    # Unbuffered: a lock that this thread held on sys.stdin would abort the interpreter.
    while os.read(sys.stdin.fileno(), 1):
        pass
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(guard(sys.argv[1:]))
