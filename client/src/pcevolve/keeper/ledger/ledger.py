"""The ledger: the budget spent on each privacy unit, across runs and processes.

The ledger identifies units by keyed fingerprints. A charge and the outcome that it pays for are one
transaction. Before the commit, nothing is released or charged. After the commit, the outcome is stored and
never drawn again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.account import Account, Limits, NoRecord, Paid, Record
from pcevolve.keeper.ledger.creation import open_store
from pcevolve.keeper.ledger.entries import Enrolment, Entries, Origin, Payment, Terms
from pcevolve.keeper.ledger.store import SIZE
from pcevolve.keeper.ledger.units import PrivateUnit, Units
from pcevolve.public.dp.accountants import epsilon, merge
from pcevolve.public.privacy import Budget, Event, Relation
from pcevolve.public.words import IMAGE

__all__ = ["Account", "Ledger", "Limits", "Origin", "Paid", "Payment", "PrivateUnit", "Terms"]

NO_TERMS = Terms()
NOWHERE = Origin()
NO_RECORD = NoRecord()


@dataclass(frozen=True)
class PaidRun:
    """A run that has paid for a release, and its ε."""

    run_id: str
    epsilon: float


class Ledger:
    """A ledger file and its key, opened and verified, with the accounts of all runs on all data."""

    def __init__(
        self,
        path: Path,
        create: bool = True,
        clock: Callable[[], float] = time.time,
        waiting: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Open the ledger; make a new one only if there is none (``LedgerError`` if it is damaged or cannot be made).

        Args:
            waiting: Called with a sentence whenever another process holds the ledger's lock.
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
        """Open a run's account with its privacy units; a new run enters the ledger only when it enrols.

        Args:
            unit: Kind of privacy unit: ``"image"``, ``"patient"``.
            terms: How the run uses the data.
            record: The run's record; a release is paid for together with the record's digest.
            data: Digest of all private facts that the run's choices follow from; stored as a keyed
                fingerprint.

        Raises:
            LedgerError: The run began with other data, or under another guarantee.
            DataError: A unit has more images than ``terms`` allow, or units cannot be distinguished.
        """
        # Fingerprinted at once, so that the ledger never stores a name or a digest of an image.
        prints = Units.of(self._store.key, units, unit)
        if terms.unit_size is not None and prints.largest > terms.unit_size:
            raise DataError(
                f"a {unit} has more images than data.unit_size {terms.unit_size} allows; nothing was spent"
            )
        bound_to = self._store.key.data_fingerprint(data)
        enrolment = Enrolment(run_id, relation, unit, limits.run, prints, bound_to, terms, origin)
        account = Account(self._entries, enrolment, limits, record)
        account.require_same_terms()
        return account

    def cap(self) -> Budget | None:
        """The limit on ε of all runs together on any one privacy unit; None if none is set."""
        caps = self._entries.caps()
        return caps[-1].budget if caps else None

    def fingerprint(self, digest: bytes) -> str:
        """Return the ledger's fingerprint of a digest, hex; it is meaningless without the key."""
        return self._store.key.fingerprint(digest).hex()

    def knows(self, run_id: str) -> bool:
        """True if the ledger contains a run, paid or not."""
        return self._entries.enrolment(run_id) is not None

    def find_private(self, run_id: str, digests: Sequence[bytes]) -> list[int] | None:
        """Return the indices of digests that belong to a run's private images; None for an unknown run."""
        enrolment = self._entries.enrolment(run_id)
        if enrolment is None:
            return None
        prints = enrolment.units.images
        own = {prints[start : start + SIZE] for start in range(0, len(prints), SIZE)}
        return [place for place, each in enumerate(digests) if self._store.key.fingerprint(each) in own]

    def payments(self, run_id: str) -> tuple[Payment, ...]:
        """List everything that a run paid for, oldest first; empty for an unknown run."""
        return self._entries.payments(run_id)

    def find_paid(self, folder: Path) -> list[PaidRun]:
        """List the runs that began in a folder and paid for a release, oldest first."""
        enrolled = [
            each for each in map(self._entries.enrolment, self._entries.run_ids()) if each is not None
        ]
        here = [each for each in enrolled if each.origin.folder == str(folder.absolute())]
        return [
            PaidRun(each.run_id, measure_loss(each, self._entries.events(each.run_id)))
            for each in here
            if self._entries.accesses(each.run_id)
        ]

    def close(self) -> None:
        self._store.close()


def measure_loss(
    run: Enrolment,
    events: Sequence[Event],
    *,
    measure: Callable[[Sequence[Event], float], float] = epsilon,
    group: int | None = None,
) -> float:
    """Return ε of a run's events at the run's δ, for one unit of the run's folder.

    Args:
        measure: Accountant that computes ε of events at a δ.
        group: Number of the run's units that change together; None for the number given by the run's terms.

    Returns:
        ε; inf for seeded noise on private data.
    """
    if not run.terms.secure and merge(events):
        return math.inf
    return measure([event.on_group(group or run.terms.group) for event in events], run.budget.delta)
