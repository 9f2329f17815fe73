"""The ledger: what was ever spent on whom, across runs and processes.

It knows a privacy unit by keyed fingerprints. A charge and the outcome that it pays for are one transaction: before
the commit nothing was released and nothing is owed; after it the outcome is on record and is never drawn again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pcevolve.errors import DataError, LedgerError
from pcevolve.keeper.ledger.account import Account, Limits, NoRecord, Paid, Record
from pcevolve.keeper.ledger.creation import open_store
from pcevolve.keeper.ledger.entries import Cap, Enrolment, Entries, Origin, Payment, Terms
from pcevolve.keeper.ledger.store import SIZE
from pcevolve.keeper.ledger.units import PrivateUnit, Units
from pcevolve.public.dp.accountants import ACCOUNTANTS, epsilon, merge
from pcevolve.public.figures import finite_or_none
from pcevolve.public.privacy import FREE, Budget, Event, Relation
from pcevolve.public.words import IMAGE

__all__ = ["Account", "Ledger", "Limits", "Origin", "Paid", "Payment", "PrivateUnit", "Terms"]

NO_TERMS = Terms()
NOWHERE = Origin()
NO_RECORD = NoRecord()
LEAST_OF_AN_ID = 4
"""Characters of a run's id that are enough to name it, where no other run's begins so."""


@dataclass(frozen=True)
class RunRow:
    """A run in the ledger.

    Attributes:
        unit: What one privacy unit is, in a word; the run has so many ``units``, with so many ``images`` together.
        named: Whether the ledger knows them by name as well as by image.
        noise: ``os-csprng`` or ``INSECURE``.
        rounds: Releases that were paid for; ``draws`` are accesses to the private data.
        epsilon: What it spent on one unit of its folder, at its own δ; inf for an INSECURE run that looked at private
            data.
        epsilon_drawn: What it spent on one unit that was drawn from the folder; None where all of them are used.
        secret_mu: μ, what it said of each secret that its owner declared; None where none was, and inf where what it
            said is bounded at one prior alone, or by nothing.
    """

    run_id: str
    folder: str
    domain: str
    began: float
    relation: Relation
    unit: str
    units: int
    named: bool
    images: int
    noise: str
    forgets_insecure: bool
    rounds: int
    draws: int
    epsilon: float
    epsilon_drawn: float | None
    delta: float
    secret_mu: float | None


@dataclass(frozen=True)
class HistoryRow:
    """An access to private data; ε is what its run had spent after it, at the run's δ, and inf for an INSECURE run."""

    number: int
    time: float
    run_id: str
    noise: str
    iteration: int
    mechanism: str
    parameter: str
    count: int
    epsilon: float


class Ledger:
    """A ledger file and its key, opened and verified: the accounts of all runs on all data."""

    def __init__(
        self,
        path: Path,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        waiting: Callable[[str], None] = lambda said: None,
    ) -> None:
        """Open the ledger, making a new one only where there is none. Raises ``LedgerError``.

        Args:
            waiting: Told, in a sentence, whenever another process holds the ledger's lock, and which one.
        """
        self.path = path
        self._store = open_store(path, create, waiting)
        self._entries = Entries(self._store, clock)

    def account(
        self,
        run_id: str,
        units: Sequence[PrivateUnit],
        relation: Relation,
        limits: Limits,
        unit: str = IMAGE,
        terms: Terms = NO_TERMS,
        origin: Origin = NOWHERE,
        record: Record = NO_RECORD,
        data: bytes = b"",
    ) -> Account:
        """Open a run's account with its privacy units; of a new run nothing is on record until it enrols.

        Args:
            unit: What a privacy unit is: ``"image"``, ``"patient"``.
            terms: How the run uses the data, besides.
            data: Digest of all private that the run's choices follow from; it is kept as a keyed fingerprint.
            record: What the run has on record; a release is paid for with the digest of it.

        Raises:
            LedgerError: The run was begun with other data, or under another promise.
            DataError: A unit has more images than ``terms`` say, or the units cannot be told apart.
        """
        # Keyed here, at once: no name or digest of an image goes further into the ledger than this line.
        prints = Units.of(self._store.key, units, unit)
        if terms.unit_size is not None and prints.largest > terms.unit_size:
            raise DataError(
                f"a {unit} has more images than data.unit_size {terms.unit_size} says: nothing was spent"
            )
        bound_to = self._store.key.data_fingerprint(data)
        enrolment = Enrolment(run_id, relation, unit, limits.run, prints, bound_to, terms, origin)
        account = Account(self._entries, enrolment, limits, record)
        account.require_same_terms()
        return account

    def cap(self) -> Budget | None:
        """What all runs together may spend on any one privacy unit; None as long as nobody has said."""
        caps = self._entries.caps()
        return caps[-1].budget if caps else None

    def caps(self) -> tuple[Cap, ...]:
        """Every cap that was ever set, oldest first."""
        return self._entries.caps()

    def set_cap(self, budget: Budget) -> None:
        """Cap what all runs together may spend on any one privacy unit; it holds for runs under way, too."""
        with self._store.writing():
            self._entries.add_cap(budget)

    def fingerprint(self, digest: bytes) -> str:
        """Return the ledger's fingerprint of a digest: hexadecimal digits that mean nothing without its key."""
        return self._store.key.fingerprint(digest).hex()

    def runs(self) -> list[RunRow]:
        """Every run and what it has spent, oldest first."""
        with self._store.reading():
            return [self._row(each) for each in self._enrolments()]

    def history(self, run_id: str | None = None) -> list[HistoryRow]:
        """List every access to private data, of all runs or of one, in the order in which they were paid for.

        ``run_id`` may be as much of an id's beginning as tells it from the others'.

        Raises:
            LedgerError: There is no such run.
        """
        with self._store.reading():
            rows = [row for each in self._enrolments(run_id) for row in self._history(each)]
        return sorted(rows, key=lambda row: row.number)

    def export(self) -> dict[str, Any]:
        """All runs as plain values for an accountant elsewhere; nothing in it is private.

        Each run's events are given as they were paid for, in its receipts, and added up. ε is what each accountant
        proves for them at the run's δ, and null where it proves nothing, as for an INSECURE run.

        It leaves out what the private side keeps, fingerprints, numbers of units, which runs share data, and times.
        """
        with self._store.reading():
            return {
                "caps": [
                    {"epsilon": str(each.budget.epsilon), "delta": each.budget.delta} for each in self.caps()
                ],
                "runs": [self._export(each) for each in self._enrolments()],
            }

    def knows(self, run_id: str) -> bool:
        """True if a run is on record here, whether it has paid for anything or not."""
        return self._entries.enrolment(run_id) is not None

    def find_private(self, run_id: str, digests: Sequence[bytes]) -> list[int] | None:
        """Return the places of digests that are of a run's private images; None for a run that it does not know."""
        enrolment = self._entries.enrolment(run_id)
        if enrolment is None:
            return None
        prints = enrolment.units.images
        own = {prints[start : start + SIZE] for start in range(0, len(prints), SIZE)}
        return [place for place, each in enumerate(digests) if self._store.key.fingerprint(each) in own]

    def payments(self, run_id: str) -> tuple[Payment, ...]:
        """Everything that a run paid for, oldest first; nothing for a run that the ledger does not know."""
        return self._entries.payments(run_id)

    def find_paid(self, folder: Path) -> list[RunRow]:
        """Runs that began in a folder and paid for a release, oldest first."""
        return [each for each in self.runs() if each.folder == str(folder.absolute()) and each.rounds]

    def close(self) -> None:
        """Close the ledger file."""
        self._store.close()

    def _enrolments(self, run_id: str | None = None) -> list[Enrolment]:
        wanted = self._entries.run_ids() if run_id is None else self._find(run_id)
        enrolled = [each for each in map(self._entries.enrolment, wanted) if each is not None]
        if run_id is not None and not enrolled:
            raise LedgerError(
                f"the ledger knows no run {run_id}: pcevolve budget show lists those that it knows"
            )
        return enrolled

    def _find(self, begin: str) -> tuple[str, ...]:
        known = self._entries.run_ids()
        if begin in known:
            return (begin,)
        found = tuple(each for each in known if len(begin) >= LEAST_OF_AN_ID and each.startswith(begin))
        return found if len(found) == 1 else ()

    def _row(self, run: Enrolment) -> RunRow:
        events = self._entries.events(run.run_id)
        return RunRow(
            run_id=run.run_id,
            folder=run.origin.folder,
            domain=run.origin.domain,
            began=run.began,
            relation=run.relation,
            unit=run.unit,
            units=len(run.units),
            named=run.units.named,
            images=run.units.image_count,
            noise=run.terms.noise,
            forgets_insecure=run.terms.forgets_insecure,
            rounds=len(self._entries.accesses(run.run_id)),
            draws=sum(event.count for event in events if event.mechanism != FREE.mechanism),
            epsilon=_loss(run, events),
            epsilon_drawn=_loss(run, events, group=1) if run.terms.subsampled else None,
            delta=run.budget.delta,
            secret_mu=_secret_mu(run, events),
        )

    def _history(self, run: Enrolment) -> list[HistoryRow]:
        rows: list[HistoryRow] = []
        done: list[Event] = []
        for access in self._entries.accesses(run.run_id):
            for event in access.events or (FREE,):
                done.append(event)
                rows.append(
                    HistoryRow(
                        number=access.number,
                        time=access.time,
                        run_id=run.run_id,
                        noise=run.terms.noise,
                        iteration=access.iteration,
                        mechanism=event.mechanism,
                        parameter=event.parameter,
                        # Even a free round is a row, so that the history shows every receipt that an auditor will see.
                        count=event.count,
                        epsilon=_loss(run, done),
                    )
                )
        return rows

    def _export(self, run: Enrolment) -> dict[str, Any]:
        events, delta = self._entries.events(run.run_id), run.budget.delta
        return {
            "run_id": run.run_id,
            "relation": run.relation,
            "unit": run.unit,
            "unit_size": run.terms.unit_size,
            "subsampled": run.terms.subsampled,
            "provider": run.terms.provider,
            "noise": run.terms.noise,
            "forgets_insecure": run.terms.forgets_insecure,
            "budget": {"epsilon": str(run.budget.epsilon), "delta": delta},
            "epsilon": {
                each.name: finite_or_none(_loss(run, events, measure=each.epsilon)) for each in ACCOUNTANTS
            },
            "events": [asdict(event) for event in merge(events)],
            "receipts": [each.receipt.as_dict() for each in self._entries.payments(run.run_id)],
        }


def _loss(
    run: Enrolment,
    events: Sequence[Event],
    *,
    measure: Callable[[Sequence[Event], float], float] = epsilon,
    group: int | None = None,
) -> float:
    """ε of a run's events at its δ, by ``measure``, on so many of its units, as change with one unit of its folder.

    Returns:
        inf where seeded noise was put on private data.
    """
    if not run.terms.secure and merge(events):
        return math.inf
    return measure([event.on_group(group or run.terms.group) for event in events], run.budget.delta)


def _secret_mu(run: Enrolment, events: Sequence[Event]) -> float | None:
    """μ of a run's events on one of its secrets; inf where seeded noise was put on private data."""
    if run.terms.secrets is None:
        return None
    looked = sum(event.count for event in merge(events))
    return math.inf if looked and not run.terms.secure else run.terms.secrets.budget * math.sqrt(looked)
