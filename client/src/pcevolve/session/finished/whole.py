"""A whole run, as the command line and the package make it: carried out, and measured where there are test data."""

from __future__ import annotations

from dataclasses import replace

from pcevolve.encoders import has_torch
from pcevolve.session.dashboard import dashboard
from pcevolve.session.execution import Outcome, execute
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import Audience, told_of


def carried_out(run: CheckedRun, audience: Audience | None = None) -> Outcome:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        run: What nothing speaks against.
        audience: Who is told; the terminal if None.

    Returns:
        The finished run; its summary has the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    audience = audience or Audience()
    return _measure(execute(run, audience), audience)


def carried_out_in_sight(run: CheckedRun, audience: Audience) -> Outcome:
    """The same, with a page about it for the owner's browser while it goes on, which is told in place of ``tell``.

    Raises:
        ClientError: As ``carried_out``.
    """
    with dashboard(run.folder.root, audience.console) as board:
        return _measure(execute(run, replace(audience, tell=board.told)), audience)


def _measure(outcome: Outcome, audience: Audience) -> Outcome:
    """With its accuracies, where there are test data and the judges' library is installed."""
    if outcome.components.test is None:
        return outcome
    if not has_torch():
        audience.console.print("accuracy: not measured, which needs torch: pip install 'pcevolve[torch]'")
        return outcome
    # Loads torch, which a run that is refused does without.
    from pcevolve.session.finished.judging import scored

    with told_of(audience.console, "measuring on test data") as told:
        return replace(outcome, summary=scored(outcome, told))
