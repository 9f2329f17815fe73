"""A finished run in which draws were paid for, with a choice of plan and provider; and an online API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pcevolve.egress.transport import Transport
from support import online
from support.paid import paid_run
from support.runs import small_plan


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        return paid_run(tmp_path / "run", small_plan(**{"method": "pcevolve", **changes}), provider)

    return make


@pytest.fixture
def server() -> Iterator[online.LocalServer]:
    """An API on loopback that speaks one of the online dialects, ``a1111``."""
    made = online.LocalServer(online.a1111)
    yield made
    made.close()
