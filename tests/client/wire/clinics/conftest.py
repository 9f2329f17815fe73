"""An API for runs of several owners, and a coordinator's door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.wire.clinics import door
from support.clinics_api import _served, _usual, clinics_api, clinics_heard
from support.doors import PLAN, Coordinator

__all__ = ["_served", "_usual", "clinics_api", "clinics_heard"]


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Coordinator]:
    monkeypatch.setattr(door, "WAIT_SECONDS", 0.5)
    made = Coordinator(tmp_path / "run")
    yield made
    made.server.shutdown()


@pytest.fixture
def open_door(coordinator: Coordinator) -> Iterator[Coordinator]:
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    coordinator.agree(0)
    coordinator.agree(1)
    waiting.join(5)
    assert not waiting.is_alive()
    return coordinator
