"""Statements for the people responsible for the data: privacy loss, provider, and checks by a third party."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import TypeAlias

from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import PrivacyLoss, state_cumulative_loss
from pcevolve.public.publish.promises import NO_GUARANTEE
from pcevolve.public.selectors import find_method

STATED = "as stated by the owner"
Rows: TypeAlias = list[tuple[str, str]]


def list_statements(plan: PublicPlan, events: Iterable[Event]) -> Rows:
    """List title and text of each statement; ``events`` are all events on the private data."""
    return [*_state_losses(plan, [each for each in events if not each.free]), *describe_provider(plan)]


def _state_losses(plan: PublicPlan, paid: list[Event]) -> Rows:
    """State the run's ε, the sum over the ledger's runs, and the cap, for any unit of the folder, drawn or not."""
    if not plan.secure:
        return [("Privacy loss of this run", f"no guarantee, so no total and no cap ({NO_GUARANTEE})")]
    if not paid:
        return [("Privacy loss of this run", "none: no private data were looked at")]
    loss = PrivacyLoss.of(plan, paid).say(symbol="ε ")
    whole = "" if plan.data.subsample is not None else f" for one {plan.unit} of the whole folder"
    alone = (
        "When the run began, the ledger listed no earlier run. The total is therefore the ε of this run. Later runs "
        "are not counted."
    )
    own = [("Privacy loss of this run", f"{loss}{whole}, at δ {in_full(plan.privacy.delta)}")]
    if plan.clinics is not None:
        kept = "recorded in each owner's own ledger, and shown to each owner before the owner agreed"
        return [*own, ("All runs of a ledger, and its cap", kept)]
    cap = plan.earlier.cap
    capped = (
        f"none was set when the run began, {STATED}"
        if cap is None
        else f"ε {format_loss(cap.epsilon)} at δ {in_full(cap.delta)} for any one unit when the run began, {STATED}"
    )
    return [
        *own,
        ("Privacy loss of all runs in the ledger", state_cumulative_loss(plan, paid) or alone),
        ("Cap on all runs together", capped),
    ]


def describe_provider(plan: PublicPlan) -> Rows:
    """Describe the provider and its retention of data, in the owner's words."""
    statements = (
        ("Provider", plan.provider.operator),
        ("Data that the provider keeps", plan.provider.retention),
    )
    return [
        (title, f"{words}, {STATED}" if words else "not stated by the owner") for title, words in statements
    ]


def list_checks(plan: PublicPlan) -> Rows:
    """List commands for a third party that has only the run's folder or its pack, and what each command shows."""
    source = " --from SOURCE" if plan.start is not None else ""
    audit = f"pcevolve audit FOLDER{source}"
    rows = [
        (
            "pip install ./shared './client[torch]'",
            f"installs the checking program from the source code of PCEvolve {version('pcevolve')}",
        ),
        (
            f"{audit} --html",
            "checks that every request was planned or paid for, and that the dataset follows from the record",
        ),
        (f"{audit} --capture FILE", "also compares the record with what an independent recorder saw"),
    ]
    if plan.secure and plan.start is None and find_method(plan.method.name).queries_data:
        claim = f"--epsilon {plan.privacy.epsilon} --delta {in_full(plan.privacy.delta)}"
        terms = f"--relation {plan.privacy.relation} --rounds {max(plan.method.iterations, 1)}"
        command = f"pcevolve audit-dp {plan.method.name} {claim} {terms}"
        rows.append((command, "attacks the method to find out whether it reveals more than it claims"))
    return rows
