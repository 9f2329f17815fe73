"""Begin a run: open its ledger, compare the ledger with the run's folder, open the account, inform the owner.

``continuity`` does the comparison for a run that has already begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from pathlib import Path

from pcevolve.errors import LedgerError
from pcevolve.keeper.components import Components
from pcevolve.keeper.ledger.account import Record
from pcevolve.keeper.ledger.creation import locate_key, require_volume
from pcevolve.keeper.ledger.entries import Listed
from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits, Origin, Terms
from pcevolve.public.config.files import find_ledger_volume
from pcevolve.public.config.options import spell_flag
from pcevolve.public.figures import describe_guesses, format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.loss import PrivacyLoss, state_cumulative_loss
from pcevolve.public.run.checked import require_ledger
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.run.owner import OwnerFolder, find_run_id
from pcevolve.public.screen import Fact
from pcevolve.public.selectors import list_paid_events


def open_ledger(path: Path, begun: bool, waiting: Callable[[str], None], draft: Path) -> Ledger:
    """Open the ledger that pays for a run. If there is none yet, make a draft: a refused run then leaves no ledger.

    Args:
        begun: Whether the run has begun, in which case its ledger must exist.
        waiting: Called whenever another process holds the ledger's lock.
        draft: Temporary folder for the draft.

    Raises:
        LedgerError: The ledger is missing, cannot be made, or would be lost with its container.
    """
    # Before a ledger is made: one outside the volume would be lost with the container.
    require_volume(path, find_ledger_volume())
    if begun:
        require_ledger(path)
    if any(map(os.path.lexists, (path, locate_key(path)))):
        return Ledger(path, waiting=waiting)
    if not os.access(next(each for each in path.absolute().parents if each.exists()), os.W_OK):
        raise LedgerError(f"ledger {path}: its folder is not writable; nothing was released")
    return Ledger(draft / "ledger.sqlite")


def begin_afresh(folder: RunFolder, ledger: Ledger, path: Path) -> None:
    """Remove the owner's files of a run whose plan was never recorded.

    Args:
        path: Path of the ledger, which need not exist.

    Raises:
        LedgerError: A run in this folder has paid for a release, and the run's record is missing.
        TranscriptError: The folder has a release without a record.
    """
    _refuse_lost_record(folder, ledger)
    folder.refuse_strange_release()
    if owner := OwnerFolder.find(folder.root, path):
        owner.forget()


def open_account(components: Components, plan: PublicPlan, ledger: Ledger, record: Record) -> Account:
    """Open the run's account; this enters nothing in the ledger."""
    terms = Terms(
        plan.provider.api,
        plan.secure,
        plan.data.unit_size,
        plan.privacy.forget_insecure,
        _list_secrets(components, plan, ledger),
        plan.data.subsample is not None,
    )
    units = components.data.privacy_units(components.settings.data.unit_namespace or "")
    origin = Origin(str(components.settings.output.folder.absolute()), plan.data.domain)
    private = components.data.compute_digest()
    if plan.secrecy is not None:
        private += components.read_secrets(plan.secrecy).compute_budgets_digest()
    return ledger.account(
        *(
            plan.run_id,
            units,
            plan.privacy.relation,
            _limit(components, plan),
            plan.unit,
            terms,
            origin,
            record,
            private,
        )
    )


def _limit(components: Components, plan: PublicPlan) -> Limits:
    """Return the run's limits; for a subsample of a folder, they include the run's ε for one unit of the folder."""
    events = [event for each in components.method.plan_events(plan).values() for event in each]
    whole = PrivacyLoss.of(plan, events).epsilon
    drawn = plan.data.subsample is not None and isfinite(whole)
    return replace(components.limits, folder=Fraction(whole)) if drawn else components.limits


def _list_secrets(components: Components, plan: PublicPlan, ledger: Ledger) -> Listed | None:
    if plan.secrecy is None:
        return None
    sources = components.read_secrets(plan.secrecy)
    return Listed(
        ledger.fingerprint(sources.compute_digest(components.data)), plan.secrecy.most, sources.budget
    )


def _refuse_lost_record(folder: RunFolder, ledger: Ledger) -> None:
    if not folder.has_traces():
        return
    found = find_run_id(folder.root) if folder.log.exists() else ""
    for row in ledger.find_paid(folder.root):
        # With another id on record, the folder was emptied for a new run after this one paid: no record is
        # lost.
        if found in ("", row.run_id):
            raise LedgerError(
                f"{folder.root} has lost the record of run {row.run_id[:8]}, which spent epsilon "
                f"{format_loss(row.epsilon)} according to the ledger {ledger.path}: restore the newest "
                f"copy of the folder; {LOST.format(out=spell_flag('out'))}"
            )


def note_private(components: Components, plan: PublicPlan, account: Account) -> Iterator[Fact]:
    """Yield facts from the ledger and the private data, for the owner alone.

    The facts are the ledger's state, earlier spending on these data, and differences between data and
    options. They are computed before the API is first contacted, so that the API cannot time the
    computation.
    """
    paid = list_paid_events(plan)
    new = "; the ledger is new. Other users, other machines, containers and sudo have separate ledgers"
    is_news = paid and account.is_first
    short = "new, without earlier runs" if is_news else ""
    yield Fact("ledger", f"{components.settings.privacy.ledger}{new if account.is_first else ''}", short)
    before = f"{_before(account)}, by other runs on these data" if paid else ""
    is_known = before and not is_news and account.compute_spent_before() > 0
    yield Fact("before", before or "not needed, because this run spends nothing", None if is_known else "")
    if together := state_cumulative_loss(plan, paid):
        yield Fact("together", together)
    if over_runs := _over_runs(account):
        yield Fact("all runs", over_runs)
    if plan.secrecy is not None:
        from pcevolve.public.dp.attacks import protection, secret_budget

        guesses = protection(secret_budget(plan.secrecy.prior, plan.secrecy.bound))
        yield Fact("secrets", f"{describe_guesses(guesses)}, counting this release alone")
    yield from _note_shots(components, plan)
    yield from (Fact(title, text) for title, text in components.notes)


def _note_shots(components: Components, plan: PublicPlan) -> Iterator[Fact]:
    """Yield a note for the owner's screen if the number of units in a class differs from the plan's."""
    counts = sorted(components.data.count_units_in(label) for label in plan.labels)
    if not components.method.queries_data or plan.class_counts or counts[0] == counts[-1] == plan.data.shots:
        return
    held = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    yield Fact(
        "NOTE",
        f"your classes hold {held} privacy units each, but --shots is {plan.data.shots}. The released "
        "means are divided by --shots, so they will be too large or too small. If the number of units "
        "may become public, set --shots to about that number; otherwise leave some units out",
    )


def _over_runs(account: Account) -> str:
    """State how likely an attacker is to guess a listed secret, given this release and all others on the same data."""
    listed, borne = account.run.terms.secrets, account.borne_by_secrets()
    if listed is None or borne == ():
        return ""
    if borne is None:
        return "a run without epsilon used these data, so nothing limits what all runs together reveal about a secret"
    from pcevolve.public.dp.attacks import PRIORS, most_success_of

    curve = describe_guesses({prior: most_success_of([*borne, listed.as_event()], prior) for prior in PRIORS})
    return f"secrets: {curve}; runs that declared other secrets count in full"


def _before(account: Account) -> str:
    """State the ε that other runs spent on the most exposed unit, at this run's δ."""
    spent = account.compute_spent_before()
    return (
        f"epsilon {format_loss(spent)}, for the most exposed unit"
        if isfinite(spent)
        else "too much for any epsilon at this delta: see pcevolve budget show"
    )
