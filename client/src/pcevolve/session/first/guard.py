"""A process between this one and a server: ends the server when this one is gone, however it ended.

Run as a file of its own, for it needs nothing but the standard library: ``python guard.py COMMAND...``. Its standard
input is a pipe from the process that wants the server; the pipe closes with that process, also after ``kill -9``.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

STOP_SECONDS = 10.0


def main(command: list[str]) -> int:
    """Have a command run until standard input closes; its exit code, or minus the signal that ended it."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets Ctrl-C too; a handler is not inherited
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - the client's own command
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    return process.wait()


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of standard input, then end the process."""
    sys.stdin.buffer.read()
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
