"""A run in one process, which then holds private data and the network: for public data, and for tests with fakes.

The product has no such way. What it is good for is the outcome: the parts of a run and all that it made, in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pcevolve.keeper.finished.outcome import Outcome
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience
from pcevolve.wire.console import report_early_stop
from pcevolve.wire.execution import carry_out, look
from pcevolve.wire.reaching import RunnerJob


def execute(run: CheckedRun, audience: Audience | None = None) -> Outcome:
    """Carry out a run, or the rest of one.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    audience = audience or Audience()
    with _keep(run, audience) as keeper:
        plan, evolved, summary = carry_out(describe_job(run), keeper, audience)
        # Last, when nothing is written any more.
        run.folder.forget_times()
    return Outcome(run.folder, keeper.components, plan, evolved, summary)


def preview(run: CheckedRun, audience: Audience) -> None:
    """Begin a run, show the provider's first images, and leave it there."""
    with _keep(run, audience) as keeper:
        look(describe_job(run), keeper, audience)


def describe_job(run: CheckedRun) -> RunnerJob:
    """The runner's part of a run."""
    return RunnerJob(run.settings.public(), run.folder, run.key)


@contextmanager
def _keep(run: CheckedRun, audience: Audience) -> Iterator[Keeper]:
    """A keeper in this process, and the run's folder for the runner in it."""
    try:
        # Private data are read before the folder is claimed: a refusal leaves nothing behind.
        keeper = Keeper(replace(run, key=None), OwnerScreen(audience.verbose, audience.console.quiet))
    except KeyboardInterrupt:
        raise report_early_stop(run.folder) from None
    with run.folder.claim(run.resume):
        try:
            yield keeper
        finally:
            keeper.close()
