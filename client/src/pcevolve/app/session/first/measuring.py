"""The process that measures what a demonstration made: it takes its orders before torch is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcevolve.app.session.whole import answer
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience


def judge(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe) -> None:
    """Measure what a demonstration made."""

    def work(run: CheckedRun, audience: Audience) -> dict[str, Any]:
        # Loads torch, which wants the temporary folder that the orders name.
        from pcevolve.app.session.first.weighing import measure

        return measure(run, audience, **{name: orders[name] for name in ("summary", "others", "started")})

    answer(orders, up, work)
