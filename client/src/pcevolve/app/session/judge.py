"""The process that measures a run's result on private data; it ends with the command that started it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from rich.console import Console

from pcevolve.errors import REPORTED_ELSEWHERE, ClientError
from pcevolve.keeper.keeping import read_orders, tell_owner
from pcevolve.public.encoders import has_torch
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience, error_console, show_work


def judge(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe) -> None:
    """Measure with the function that the orders name, and report how it ended."""
    run, _ = read_orders(orders)
    audience = Audience(
        Console(quiet=True) if orders["quiet"] else error_console(), verbose=orders["verbose"]
    )
    # Imported late: measuring loads torch, which needs the temporary folder of the orders.
    measure = resolve_name(orders["measure"])
    try:
        up.send("done", json.dumps({"summary": measure(run, audience, **orders["asked"])}))
    except ClientError as error:
        tell_owner(error)
        up.send(
            "failed",
            json.dumps({"kind": type(error).__name__, "lines": [REPORTED_ELSEWHERE], "is_reported": True}),
        )


def measure_accuracy(run: CheckedRun, audience: Audience, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a finished run on its owner's test data, if there are any; return its summary with the accuracies."""
    from pcevolve.keeper.components import Components
    from pcevolve.keeper.finished.outcome import Outcome, recall
    from pcevolve.public.transcript.reader import RunReader

    record = RunReader.strict(run.folder.root)
    outcome = Outcome(run.folder, Components.of(run), record.require_plan(), recall(record), dict(summary))
    if outcome.components.test is None:
        return outcome.summary
    if not has_torch():
        audience.console.print(
            "accuracy: not measured, because torch is not installed: pip install 'pcevolve[torch]'"
        )
        return outcome.summary
    from pcevolve.keeper.finished.judging import score  # loads torch, which a refused run does not need

    with show_work(audience.console, "measuring on test data") as show_progress:
        return replace(outcome, summary=score(outcome, show_progress)).summary
