"""The command line ``pcevolve-bench``."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.forking import BENCHMARKS
from support.forkserver import ForkServer
from support.processes import Client


@pytest.fixture
def bench(tmp_path: Path, forks: ForkServer) -> Client:
    return Client(tmp_path, "", forks, BENCHMARKS)
