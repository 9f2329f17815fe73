"""What a worker process does; it loads the heavy libraries on its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.selectors.design import Trial


def prepare() -> None:
    """One thread per process: several of them share a small network badly."""
    import torch

    torch.set_num_threads(1)


def one(job: tuple[Trial, float, Path]) -> dict[str, Any] | None:
    """Run a trial unless it is too late to begin one."""
    from benchmarks.selectors.trial import measure

    trial, deadline, shared = job
    return None if time.monotonic() > deadline else {"key": trial.key, **measure(trial, shared)}
