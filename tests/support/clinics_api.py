"""An API for runs of several owners, and a usual ledger that is nobody's; fixtures for the folders of their tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import online


@pytest.fixture(autouse=True)
def _usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "usual"))


@pytest.fixture
def _served() -> Iterator[online.LocalServer]:
    server = online.LocalServer(online.a1111)
    yield server
    server.close()


@pytest.fixture
def clinics_api(_served: online.LocalServer) -> str:
    return _served.address


@pytest.fixture
def clinics_heard(_served: online.LocalServer) -> list[online.Heard]:
    return _served.heard
