"""A finished run in which draws were paid for, with a choice of plan and provider."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve_client.egress.transport import Transport
from support.paid import paid_run
from support.runs import small_plan


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        return paid_run(tmp_path / "run", small_plan(**{"method": "pcevolve", **changes}), provider)

    return make
