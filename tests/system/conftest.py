"""A server for all tests that leave it alive, and the client's command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.forkserver import ForkServer
from support.processes import Client, ServerProcess


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("server") / "log", forks)
    process.start()
    yield process
    process.kill()


@pytest.fixture
def client(tmp_path: Path, server: ServerProcess, forks: ForkServer) -> Client:
    return Client(tmp_path, server.address, forks)
