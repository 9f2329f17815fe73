"""A whole run, as the command line and the package make it: carried out, and measured where there are test data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcevolve.app.session.apart import JUDGE, DoorAddress, may_be_measured, staff
from pcevolve.app.session.reach import keep_files_of_run
from pcevolve.errors import ClientError
from pcevolve.public.encoders import has_torch
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.launcher import Children
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience, error_console, show_work

if TYPE_CHECKING:  # who only starts a run's processes does without what they import
    from pcevolve.keeper.finished.outcome import Outcome


def carry_out(
    run: CheckedRun,
    audience: Audience,
    children: Children,
    open_page: bool = False,
    door: DoorAddress | None = None,
) -> dict[str, Any]:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        children: Processes that do the work, and end with it.
        door: Where several owners come.
        open_page: Whether the page that shows the run while it goes on is opened in the browser.

    Returns:
        The finished run's summary, with the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    if open_page:
        from pcevolve.wire.dashboard import show_page

        show_page(run.folder.live, audience.console)
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        summary = at_work.carry_out(run, audience, door=door)
        if may_be_measured(run.settings):
            summary = at_work.measure(JUDGE, run, audience, summary=summary)
    return summary


def measure(run: CheckedRun, summary: dict[str, Any], audience: Audience) -> dict[str, Any]:
    """Measure a finished run, reading its private data again; return its summary with the accuracies."""
    from pcevolve.keeper.components import Components
    from pcevolve.keeper.finished.outcome import Outcome
    from pcevolve.keeper.finished.recalling import recall
    from pcevolve.public.transcript.reader import RunReader

    record = RunReader.strict(run.folder.root)
    outcome = Outcome(run.folder, Components.of(run), record.require_plan(), recall(record), summary)
    return _measure(outcome, audience)


def _measure(outcome: Outcome, audience: Audience) -> dict[str, Any]:
    if outcome.components.test is None:
        return outcome.summary
    if not has_torch():
        audience.console.print("accuracy: not measured, which needs torch: pip install 'pcevolve[torch]'")
        return outcome.summary
    # Loads torch, which a run that is refused does without.
    from pcevolve.keeper.finished.judging import score

    with show_work(audience.console, "measuring on test data") as told:
        return replace(outcome, summary=score(outcome, told)).summary


def look(run: CheckedRun, audience: Audience, children: Children) -> Path:
    """Begin a run, show the provider's first images, and leave it there: no privacy budget is spent.

    Returns:
        The page that shows them.

    Raises:
        ClientError: Why it ended.
    """
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        at_work.carry_out(run, audience, only_look=True)
    return run.folder.preview


def judge(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe) -> None:
    """Measure what a run made on the owner's test data, if there are any."""
    answer(orders, up, lambda run, audience: measure(run, dict(orders["summary"]), audience))


def answer(
    orders: Mapping[str, Any], up: Pipe, work: Callable[[CheckedRun, Audience], dict[str, Any]]
) -> None:
    """Do the work of a process that measures, and say how it ended."""
    from rich.console import Console

    from pcevolve.keeper.keeping import read_orders, tell_owner

    run, _ = read_orders(orders)
    console = Console(quiet=True) if orders["quiet"] else error_console()
    try:
        up.send("done", json.dumps({"summary": work(run, Audience(console, verbose=orders["verbose"]))}))
    except ClientError as error:
        tell_owner(error)
        up.send("failed", json.dumps({"kind": type(error).__name__, "lines": ["see above"], "is_told": True}))
