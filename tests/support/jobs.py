"""Jobs for workers in other processes; for tests only."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pcevolve.errors import DataError


def work(name: str) -> int:
    """Count letters, unless the name asks for something else."""
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "refuse":
        raise DataError("no image")
    if name.startswith("sleep "):
        (Path(name.removeprefix("sleep ")) / str(os.getpid())).touch()
        time.sleep(600)
    return len(name)
