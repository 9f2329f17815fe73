"""A whole run, as the command line and the package make it: carried out, and measured where there are test data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pcevolve.encoders import has_torch
from pcevolve.session.execution import execute, preview
from pcevolve.session.following import follow, preview_following
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import Audience, show_work


def carry_out(run: CheckedRun, audience: Audience, open_page: bool = False) -> dict[str, Any]:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        open_page: Whether the page that shows the run while it goes on is opened in the browser.

    Returns:
        The finished run's summary, with the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    if run.settings.data.from_run is not None:
        return follow(run, audience, open_page)
    outcome = execute(run, audience, open_page)
    if outcome.components.test is None:
        return outcome.summary
    if not has_torch():
        audience.console.print("accuracy: not measured, which needs torch: pip install 'pcevolve[torch]'")
        return outcome.summary
    # Loads torch, which a run that is refused does without.
    from pcevolve.session.finished.judging import score

    with show_work(audience.console, "measuring on test data") as told:
        return replace(outcome, summary=score(outcome, told)).summary


def look(run: CheckedRun, audience: Audience) -> Path:
    """Begin a run, show the provider's first images, and leave it there; see ``execution.preview``."""
    return (preview if run.settings.data.from_run is None else preview_following)(run, audience)
