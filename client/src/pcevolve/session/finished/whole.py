"""A whole run, as the command line and the package make it: carried out, and measured where there are test data."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from pcevolve.encoders import has_torch
from pcevolve.session.dashboard import serve_dashboard
from pcevolve.session.execution import Outcome, execute
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import Audience, show_work


def carry_out(run: CheckedRun, audience: Audience, in_sight: bool = False) -> Outcome:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        in_sight: Whether a page for the owner's browser shows the run while it goes on, and is told in their place.

    Returns:
        The finished run; its summary has the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    with serve_dashboard(run.folder.root, audience.console) if in_sight else nullcontext() as board:
        outcome = execute(run, audience if board is None else replace(audience, tell=board.take_in))
        if outcome.components.test is None:
            return outcome
        if not has_torch():
            audience.console.print("accuracy: not measured, which needs torch: pip install 'pcevolve[torch]'")
            return outcome
        # Loads torch, which a run that is refused does without.
        from pcevolve.session.finished.judging import score

        with show_work(audience.console, "measuring on test data") as told:
            return replace(outcome, summary=score(outcome, told))
