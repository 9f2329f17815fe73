"""Servers that are flooded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flood.servers import KEY, LightServer, Start, running


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with settings of its own, which ends with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(tmp_path, **settings))


@pytest.fixture(scope="package")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightServer]:
    """A server with a key, for all tests that leave it alive."""
    with running(tmp_path_factory.mktemp("locked"), keys=[KEY]) as server:
        yield server
