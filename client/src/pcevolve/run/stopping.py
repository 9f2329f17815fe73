"""What a person is told who stops a run: what it has spent, and how to go on."""

from __future__ import annotations

from pathlib import Path

from pcevolve.dp.accountants import epsilon
from pcevolve.errors import StoppedError
from pcevolve.ledger.ledger import Account
from pcevolve.public.figures import loss
from pcevolve.public.plan import PublicPlan
from pcevolve.run.folder import RunFolder


def stopped_early(folder: RunFolder) -> StoppedError:
    """About a run that was stopped before it sent a prompt, or before it went on."""
    if folder.has_plan():
        return StoppedError("stopped: nothing more was spent", _go_on(folder.root))
    return StoppedError(
        "stopped: nothing was spent, and no prompt was sent", "to begin again: the same command"
    )


def stopped_midway(root: Path, plan: PublicPlan, account: Account) -> StoppedError:
    """About a run that was stopped on its way; what it has spent is asked of the ledger."""
    receipts = account.receipts()
    events = [event for receipt in receipts for event in receipt.events]
    spent = loss(epsilon(events, plan.delta)) if plan.secure else f"{plan.mark}, no"
    return StoppedError(
        f"stopped: {spent} of epsilon {float(plan.budget.epsilon):g} is spent, on {len(receipts)} of "
        f"{len(plan.releases)} releases; all of it is on record",
        _go_on(root),
    )


def _go_on(root: Path) -> str:
    return f"to go on, without paying again for what is paid: pcevolve run --resume {root}"
