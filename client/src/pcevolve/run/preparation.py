"""What is settled before the API is greeted: who pays, that the plan can be paid for, and what the owner is told.

The API would learn from a later refusal that these data were used before, and from a delay how large they are.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from pcevolve.errors import LedgerError
from pcevolve.ledger.creation import require_volume
from pcevolve.ledger.entries import Listed
from pcevolve.ledger.ledger import Account, Ledger, Origin, Terms
from pcevolve.private.telling import Told, nobody
from pcevolve.providers.dialect import ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.run.checks import require_ledger
from pcevolve.run.components import Components
from pcevolve.run.disclosure import PrivateNotes
from pcevolve.run.planning import resolved_plan
from pcevolve.run.secrecy import declared
from pcevolve.run.settings import RunSettings, ledger_volume
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import Opened

FALLBACK_SIZE = ModelSize(512, 512)
"""Of images, where the API does not say which size its model makes."""


@dataclass(frozen=True)
class Prepared:
    """All that is settled before the API is greeted.

    Attributes:
        account: What pays; it has enough for the whole draft.
        draft: The plan, but for the size of the API's images.
        notes: What the owner is told of ledger and data.
    """

    account: Account
    draft: PublicPlan
    notes: PrivateNotes


def opened_ledger(settings: RunSettings, begun: bool) -> Ledger:
    """The run's ledger, which is new only if the run is.

    Raises:
        LedgerError: It is gone, and with it the memory of what the run has drawn; or it would not outlive a container.
    """
    require_volume(settings.ledger, ledger_volume())
    if begun:
        require_ledger(settings.ledger)
    return Ledger(settings.ledger)


def prepared(components: Components, ledger: Ledger, transcript: Transcript, told: Told = nobody) -> Prepared:
    """Make sure that all of the plan can be paid for, and embed the private images.

    The size of the API's images, which only the API knows, has no part in any of this.

    Raises:
        BudgetError: Not enough is left.
        DataError: A private image has no embedding.
        LedgerError: The run cannot be paid from this ledger.
        ModelError: The encoder cannot be loaded.
    """
    run_id, recorded = _run_id(transcript), transcript.plan()
    plan = resolved_plan(components, run_id, FALLBACK_SIZE)
    account = _account(components, plan, ledger)
    if recorded is not None and not account.enrolled:
        raise LedgerError(
            f"the ledger {ledger.path} does not know this run, which has begun: restore the one that it began with"
        )
    account.require([event for each in components.method.planned(plan).values() for event in each])
    components.prepare(plan, told)
    # What the provider had seen when the run began; a run that goes on does not count it anew.
    earlier = account.earlier() if recorded is None else recorded.earlier
    draft = plan.model_copy(update={"earlier": earlier})
    return Prepared(account, draft, PrivateNotes.of(components, draft, account))


def _account(components: Components, plan: PublicPlan, ledger: Ledger) -> Account:
    """The run's view of the ledger; nothing is on record of it yet."""
    terms = Terms(
        plan.api,
        plan.secure,
        plan.unit_size,
        plan.forgets_insecure,
        _listed(components, plan, ledger),
    )
    units = components.data.privacy_units()
    origin = Origin(str(components.settings.out.absolute()), plan.domain)
    return ledger.account(plan.run_id, units, plan.relation, components.limits, plan.unit, terms, origin)


def _listed(components: Components, plan: PublicPlan, ledger: Ledger) -> Listed | None:
    """What the owner declared secret, as the ledger knows it."""
    if plan.secrecy is None:
        return None
    sources = declared(components.settings, plan.secrecy)
    return Listed(ledger.fingerprint(sources.digest), plan.secrecy.most, sources.budget)


def _run_id(transcript: Transcript) -> str:
    """The id of the run that is on record, or a new one."""
    first = transcript.entries[0].record if transcript.entries else None
    return first.run_id if isinstance(first, Opened) else secrets.token_hex(16)
