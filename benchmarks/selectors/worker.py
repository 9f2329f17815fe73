"""Run trials in a worker process, which loads the heavy libraries on its own."""

from __future__ import annotations

import hashlib
import time
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.selectors.grid import Trial


def prepare() -> None:
    """One thread per process: several of them share a small network badly."""
    import torch

    torch.set_num_threads(1)


def one(job: tuple[Trial, float, Path]) -> dict[str, Any] | None:
    """Run a trial unless it is too late to begin one."""
    from benchmarks.selectors.trial import measure

    trial, deadline, shared = job
    if time.monotonic() > deadline:
        return None
    return {"key": trial.key, "models": models(), **measure(trial, shared)}


@cache
def models() -> str:
    """Which weights a result is of: a fingerprint of the bundled generator's and encoder's files."""
    from pcevolve.public.encoders import named_weights
    from pcevolve_server.sources import locate

    files = sorted(Path(locate("bundled")).rglob("*.safetensors"))
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("/".join([*digests, named_weights("bundled", None) or ""]).encode()).hexdigest()[
        :12
    ]
