"""Both sides start Ray clusters of their own alike: on loopback, behind a token, told to nobody, and gone afterwards.

Imports no Ray: what it reads as it is imported has to be in the environment before.
"""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STORE_BYTES = 200 * 2**20
"""Shared memory of a cluster of our own; what does not fit waits in files of its folder."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would tell its makers about the cluster
    "GRPC_VERBOSITY": "ERROR",  # it writes to stderr, which is our log
}
ALONE = {
    # Ray's way to have the machine's own address be 127.0.0.1, on which its processes then listen.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_ENDING_SECONDS, _POLL_SECONDS = 10.0, 0.1


@contextmanager
def keep_signals() -> Iterator[None]:
    """Leave it to the command what a signal does: Ray takes over SIGTERM for the whole process, from any thread."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)


def remove_folder(folder: Path) -> None:
    """Remove a folder into which processes that are ending still write."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_POLL_SECONDS)
