"""A server for all tests that leave it alive, and the client's command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.forkserver import ForkServer
from support.processes import Client, ServerProcess


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server") / "log", forks) as process:
        yield process


@pytest.fixture
def client(tmp_path: Path, server: ServerProcess, forks: ForkServer) -> Client:
    return Client(tmp_path, server.address, forks)


@pytest.fixture
def alone(tmp_path: Path, forks: ForkServer) -> Client:
    """The command line, for commands that need no API."""
    return Client(tmp_path, "http://127.0.0.1:9", forks)
