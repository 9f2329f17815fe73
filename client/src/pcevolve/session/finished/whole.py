"""A whole run, as the command line and the package make it: carried out, and measured where there are test data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcevolve.encoders import has_torch
from pcevolve.errors import ClientError, UsageError
from pcevolve.processes.confinement import Enforcement
from pcevolve.processes.launcher import Children
from pcevolve.processes.pipe import Pipe
from pcevolve.session.apart import carry_out_apart
from pcevolve.session.checked import CheckedRun
from pcevolve.session.progress import Audience, show_work

if TYPE_CHECKING:  # who only starts a run's processes does without what they import
    from pcevolve.session.execution import Outcome


def carry_out(
    run: CheckedRun, audience: Audience, open_page: bool = False, apart: Children | None = None
) -> dict[str, Any]:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        open_page: Whether the page that shows the run while it goes on is opened in the browser.
        apart: Processes that do the work; this one if not given, and where a run has no private data.

    Returns:
        The finished run's summary, with the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    if run.settings.data.from_run is not None:
        from pcevolve.session.following import follow

        _require_network(apart)
        return follow(run, audience, open_page)
    if apart is not None:
        if open_page:
            from pcevolve.session.dashboard import show_page

            show_page(run.folder.live, audience.console)
        return carry_out_apart(run, apart, audience)
    from pcevolve.session.execution import execute

    return _measure(execute(run, audience, open_page), audience)


def measure(run: CheckedRun, summary: dict[str, Any], audience: Audience) -> dict[str, Any]:
    """Measure a finished run, whose private data are read anew; its summary with the accuracies."""
    from pcevolve.session.components import Components
    from pcevolve.session.execution import Outcome
    from pcevolve.session.finished.recalling import recall
    from pcevolve.transcript import RunReader

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
    from pcevolve.session.finished.judging import score

    with show_work(audience.console, "measuring on test data") as told:
        return replace(outcome, summary=score(outcome, told)).summary


def _require_network(apart: Children | None) -> None:
    """Refuse a run from a release in a process that has given the network up for its children (``UsageError``)."""
    if apart is not None:
        apart.end()
        raise UsageError("this run starts from a release and never began: begin it again with --from RUN")


def look(run: CheckedRun, audience: Audience, apart: Children | None = None) -> Path:
    """Begin a run, show the provider's first images, and leave it there; see ``execution.preview``."""
    if run.settings.data.from_run is not None:
        from pcevolve.session.following import preview_following

        _require_network(apart)
        return preview_following(run, audience)
    if apart is not None:
        carry_out_apart(run, apart, audience, only_look=True)
        return run.folder.preview
    from pcevolve.session.execution import preview

    return preview(run, audience)


def judge(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe) -> None:
    """Measure what a run made on the owner's test data, if there are any."""
    from pcevolve.session.keeping import read_orders, tell_owner

    run, audience = read_orders(orders)
    try:
        up.send("done", json.dumps({"summary": measure(run, dict(orders["summary"]), audience)}))
    except ClientError as error:
        tell_owner(error)
        up.send("failed", json.dumps({"kind": type(error).__name__, "lines": ["see above"], "is_told": True}))
