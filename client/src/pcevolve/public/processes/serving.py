"""Start a server, or open a page, from a separate process, because a confined process cannot start programs.

Both helper processes are started before the confinement. The server's helper, which is this file, reads a command and a
log file from one line of standard input. It ends the server when that input closes. This happens when the parent ends,
even by ``kill -9``. The browser's helper receives only the page's address. Only the standard library is used.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

_CODE = "import sys, webbrowser; address = sys.stdin.readline().strip(); address and webbrowser.open(address)"
_browsers: list[subprocess.Popen[bytes]] = []


def prepare_browser() -> None:
    """Start the process that opens one page later."""
    _browsers.append(
        subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-P", "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # browsers talk much
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is not for the browser
        )
    )


def open_in_browser(address: str) -> None:
    """Open a page without waiting for it."""
    if not _browsers:
        prepare_browser()
    process = _browsers.pop()
    if process.stdin is not None:
        process.stdin.write(f"{address}\n".encode())
        process.stdin.close()


STOP_SECONDS = 10.0
_waiting: list[subprocess.Popen[bytes]] = []


def prepare_server() -> None:
    """Start the process that starts a server later."""
    _waiting.append(subprocess.Popen([sys.executable, "-I", __file__], stdin=subprocess.PIPE))  # noqa: S603 - our own


def start_server(command: Sequence[str], log: str) -> subprocess.Popen[bytes]:
    """Start a server whose output is appended to a log. Return its guard process, which ends with the server.

    The guard ends the server if this process ends.
    """
    if not _waiting:
        prepare_server()
    process = _waiting.pop()
    if process.stdin is not None:
        process.stdin.write(json.dumps({"command": [*command], "log": log}).encode() + b"\n")
        process.stdin.flush()
    return process


def stop_server(process: subprocess.Popen[bytes]) -> None:
    """End a server, and wait until it has ended."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def guard() -> int:
    """Run the command from standard input until the input closes. Return its exit code, or minus its signal."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets Ctrl-C too; a handler is not inherited
    line = b""
    while not line.endswith(b"\n"):
        # Unbuffered, because a lock that a thread holds on sys.stdin would abort the interpreter.
        if not (piece := os.read(0, 2**16)):
            return 0
        line += piece
    order = json.loads(line)
    with open(order["log"], "ab") as sink:  # noqa: PTH123 - pathlib takes 10 ms to import
        process = subprocess.Popen(  # noqa: S603 - the client's own command
            order["command"], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    return process.wait()


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):
        pass
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(guard())
