"""What a person is told who stops a run: what it has spent, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pcevolve.dp.accountants import epsilon
from pcevolve.errors import StoppedError
from pcevolve.ledger.ledger import Account
from pcevolve.privacy import Event
from pcevolve.public.figures import loss
from pcevolve.public.plan import PublicPlan
from pcevolve.run.folder import RunFolder


def stopped_early(folder: RunFolder) -> StoppedError:
    """About a run that was stopped before it sent a prompt, or before it went on."""
    if folder.has_plan():
        return StoppedError("stopped: no privacy budget was spent meanwhile", _go_on(folder.root))
    return StoppedError(
        "stopped: nothing was spent, and no prompt was sent", "to begin again: the same command"
    )


def stopped_midway(root: Path, plan: PublicPlan, account: Account) -> StoppedError:
    """About a run that was stopped on its way; what it has spent is asked of the ledger."""
    receipts = account.receipts()
    events = [event for receipt in receipts for event in receipt.events]
    return StoppedError(
        f"stopped: {_spent(plan, events)}, on {len(receipts)} of {len(plan.releases)} releases; all of it is on record",
        _go_on(root),
    )


def spent_so_far(plan: PublicPlan, account: Account) -> str:
    """What a run has spent when it stops by itself, in a sentence without its full stop."""
    events = [event for receipt in account.receipts() for event in receipt.events]
    if all(event.free for event in events):
        return "no privacy budget was spent"
    return f"nothing more was spent: {_spent(plan, events)}"


def _spent(plan: PublicPlan, events: Sequence[Event]) -> str:
    """What was spent, or what the run protects where no ε says it."""
    spent = loss(epsilon(events, plan.delta)) if plan.secure else "INSECURE, no"
    return f"{spent} of epsilon {float(plan.budget.epsilon):g} is spent"


def _go_on(root: Path) -> str:
    return f"to go on, without paying again for what is paid: pcevolve run --resume {root}"
