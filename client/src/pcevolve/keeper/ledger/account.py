"""One run's account in the ledger: the only way to pay for a release.

Two limits hold at once: one on what the run may spend, and one on what all runs together may spend on any one
privacy unit, which ``others`` sums up.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import Protocol, Self

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.keeper.ledger.entries import Enrolment, Entries, Payment
from pcevolve.keeper.ledger.others import PriorRuns
from pcevolve.public.dp.accountants import epsilon, merge, within
from pcevolve.public.parts import PriorReleases
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.release import Choice, Query, Receipt


@dataclass(frozen=True)
class Limits:
    """The privacy budget.

    Attributes:
        run: What this run may spend.
        lower: The run's own limit for ε of all runs together on any one privacy unit; at most the ledger's
            cap. None for the cap itself.
        folder: ε of the whole run on one unit of the folder that its units are drawn from; None if all are
            used.
    """

    run: Budget
    lower: Fraction | None = None
    folder: Fraction | None = None


@dataclass(frozen=True)
class Paid:
    """The outcome of a draw; all of it is public once it is paid for.

    Attributes:
        measured: As safetensors. It is stored, because the private side never measures twice, and an auditor
            derives the choices from it.
    """

    choices: tuple[Choice, ...]
    measured: bytes = b""
    values: tuple[float, ...] = ()


class Record(Protocol):
    """A run's record, as far as its account needs it."""

    @property
    def head(self) -> str:
        """Digest that commits to everything on record."""
        ...

    def has(self, receipt: Receipt) -> bool:
        """True if a receipt is on record."""
        ...


class NoRecord:
    """The record of a run that keeps none."""

    head = ""

    def has(self, _receipt: Receipt) -> bool:
        """False: nothing is on record."""
        return False


@dataclass(frozen=True)
class Account:
    """One run's account; the ledger knows nothing of a run before ``enrol``."""

    entries: Entries
    run: Enrolment
    limits: Limits
    record: Record

    @property
    def lifetime(self) -> Budget:
        """The limit of all runs together on any one privacy unit; without a cap, this run's own limit.

        Raises:
            BudgetError: The run asks for more than the cap.
        """
        caps, lower = self.entries.caps(), self.limits.lower
        own = (
            self.limits.run
            if self.limits.folder is None
            else replace(self.limits.run, epsilon=self.limits.folder)
        )
        # Without a cap the run's own limit holds for all runs: nobody has allowed more than one run's budget.
        limit = caps[-1].budget if caps else own
        if lower is None:
            return limit
        # A run may lower the cap for itself; raising it is for those responsible for the data.
        if lower > limit.epsilon:
            raise BudgetError(_refusals().spell_raising(lower, limit, bool(caps)))
        return Budget(lower, limit.delta)

    @property
    def is_first(self) -> bool:
        """True if the ledger knows no other run, on any data."""
        return not self._others.list_enrolled()

    @property
    def enrolled(self) -> bool:
        """True if the ledger already knows this run."""
        return self.entries.enrolment(self.run.run_id) is not None

    def enrol(self) -> Self:
        """Enter the run in the ledger or, if it is resumed, ``require_same_terms``."""
        # The check is inside the lock: of two processes that resume one run, the second finds it enrolled.
        with self.entries.store.writing():
            # Enrolment keeps the units; a payment without it would be on nobody's account.
            if not self.enrolled:
                self.entries.enrol(self.run)
            else:
                self.require_same_terms()
        return self

    def require_same_terms(self) -> None:
        """Refuse to resume a run with other data than it began with, or under another guarantee; accept a new run.

        Raises:
            LedgerError: The privacy units, their classes or secrets, the relation, the kind of unit or the
                terms differ from the enrolment.
        """
        # A resumed run is answered from its receipts, which hold only for the units that they were drawn
        # from.
        known = self.entries.enrolment(self.run.run_id)
        if known is None:
            return
        if known.units != self.run.units:
            raise LedgerError(
                "the private data are not those that this run began with: restore them, or begin a new run; nothing "
                "more was spent"
            )
        if known.data != self.run.data:
            raise LedgerError(
                "the private data are those that this run began with, but not as they were: an image or a text is in "
                "another class, or another secret is declared; restore them, or begin a new run; nothing more was spent"
            )
        if (known.relation, known.unit, known.terms) != (self.run.relation, self.run.unit, self.run.terms):
            raise LedgerError(
                f"this run began with privacy.relation {known.relation}, one {known.unit} as its privacy unit, "
                f"data.unit_size {known.terms.unit_size or 'not given'}, and another noise or provider: "
                "resume with the same settings"
            )

    def pay(self, query: Query, events: Iterable[Event], draw: Callable[[], Paid]) -> Receipt:
        """Draw and pay in one transaction, or return the earlier receipt for this query.

        Args:
            events: The draw's events on the private data.
            draw: Makes the draw; called only when it can be paid for, and at most once.

        Raises:
            BudgetError: Not enough is left; nothing was drawn.
            LedgerError: The ledger could not record it; nothing was released.
        """
        # A mistake of the code, not of a user; refused, because the wrong subjects would be charged.
        if query.run_id != self.run.run_id:
            raise LedgerError(f"run {self.run.run_id} cannot pay for a query of run {query.run_id}")
        events = tuple(events)
        # The lookup, the draw and the row are one transaction: a crash in between rolls back a draw that
        # nobody has seen, and two processes cannot both find the query unpaid.
        with self.entries.store.writing():
            # Before the limits: a paid receipt is returned even if nothing is left, or a crash after the
            # commit would lose it.
            known = self.receipt(query)
            if known is not None:
                return known
            if not self.enrolled:
                raise LedgerError(f"run {self.run.run_id} is not on record, so it cannot pay: enrol it first")
            # Before the draw, never after it: a refusal must not depend on the draw.
            self._afford(events)
            paid = draw()
            receipt = Receipt(
                query.run_id,
                query.iteration,
                paid.choices,
                events,
                self.run.relation,
                paid.values,
                hashlib.sha256(paid.measured).hexdigest() if paid.measured else "",
            )
            self.entries.pay(query, Payment(receipt, self.record.head), paid.measured)
        return receipt

    def receipt(self, query: Query) -> Receipt | None:
        """Return the receipt of a query that was paid for before, or None.

        Raises:
            LedgerError: It was drawn among the candidates of another copy of this run.
        """
        known = self.entries.payment(query)
        if known is None:
            return None
        # The receipt was drawn among the candidates of one record. In a copy that went on otherwise, its
        # choices would name other images.
        if not self.record.has(known.receipt) and known.record != self.record.head:
            raise LedgerError(
                "another copy of this run's folder has gone on meanwhile, and the ledger has its release: go on with "
                "that copy; in this one nothing was released"
            )
        return known.receipt

    def read_measured(self, iteration: int) -> bytes:
        """Return the stored measurement of a round; empty if there was none."""
        return self.entries.read_measured(Query(self.run.run_id, iteration))

    def is_committed(self, receipt: Receipt) -> bool:
        """True if this run paid for exactly this receipt."""
        query = Query(receipt.run_id, receipt.iteration)
        # The whole receipt is compared, not only its place: forged choices for a paid round are refused too.
        known = self.entries.payment(query)
        return receipt.run_id == self.run.run_id and known is not None and known.receipt == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """List everything that this run paid for, oldest first, for auditors."""
        return tuple(each.receipt for each in self.entries.payments(self.run.run_id))

    def compute_spent_before(self) -> float:
        """Return ε of all other runs on this run's most exposed subject, at the cap's δ; may be inf.

        Raises:
            LedgerError: It is unknown, for the reasons for which ``require`` refuses.
        """
        with self.entries.store.reading():
            affected = self._others.find_affected()
            # Whoever knows the seed can subtract the noise, so no number bounds what such a run told.
            if affected.insecure:
                return math.inf
            delta = self.lifetime.delta
            # The most exposed subject: the limit is a promise to everyone, and an average would hide the
            # largest loss.
            return max(epsilon(each.others, delta) for each in affected.losses(()))

    def compute_spent_after(self, events: Iterable[Event]) -> float:
        """Return ε of all runs on the most exposed subject after this run's ``events``.

        Errors as in ``compute_spent_before``.
        """
        with self.entries.store.reading():
            affected, own = self._others.find_affected(), tuple(events)
            if affected.insecure:
                return math.inf
            delta = self.lifetime.delta
            # Priced together: the epsilon of two lists of events is less than the sum of their epsilons.
            return max(epsilon(each.events, delta) for each in affected.losses(own))

    def borne_by_secrets(self) -> tuple[Event, ...] | None:
        """Return other runs' events as one of this run's secrets bears them; None after an INSECURE run."""
        if self.run.terms.secrets is None:
            return ()
        with self.entries.store.reading():
            return self._others.find_events_on_secret(self.run.terms.secrets)

    def earlier(self) -> PriorReleases:
        """Return the ledger's secure runs, on any data, and its cap: ``PriorRuns.earlier``."""
        with self.entries.store.reading():
            return self._others.earlier()

    def require(self, events: Iterable[Event]) -> None:
        """Refuse a plan that does not fit, before anything is spent; the run need not be enrolled yet.

        Events of the plan that this run has already paid for are not counted again.

        Raises:
            BudgetError: The plan costs more than the run's budget or the cap, or an INSECURE run used
                these data.
            LedgerError: Earlier spending on these data was under another relation, or the number of images of
                a patient must be declared.
        """
        with self.entries.store.reading():
            _ = self.lifetime  # a limit above the cap is refused even if nothing is spent
            self._afford(_without(events, self.entries.events(self.run.run_id)))

    def _afford(self, new: tuple[Event, ...]) -> None:
        """Refuse events that exceed this run's limit, or the limit of a subject that it concerns."""
        # Free events look at nothing private: a control may run when nothing is left.
        if all(event.free for event in new):
            return
        own = self.entries.events(self.run.run_id)
        # Own and new events are priced together: ε of Gaussian and Rényi accounting cannot be subtracted.
        if not within(own + new, self.limits.run):
            raise BudgetError(_refusals().spell_over_run(own, new, self.limits.run))
        affected, limit = self._others.find_affected(), self.lifetime
        # Before any sum: anyone who guesses the seed can subtract seeded noise, so no ε holds.
        if affected.insecure:
            raise BudgetError(_refusals().spell_insecure(affected))
        over = [each for each in affected.losses(own + new) if not within(each.events, limit)]
        if over:
            # Only the worst is named: which other subjects are over the limit is private.
            worst = max(over, key=lambda each: epsilon(each.events, limit.delta))
            raise BudgetError(_refusals().spell_over_lifetime(worst, limit, self.run.unit))

    @cached_property
    def _others(self) -> PriorRuns:
        return PriorRuns(self.entries, self.run)


def _refusals() -> ModuleType:
    """Import the wording of refusals, which few runs need."""
    from pcevolve.keeper.ledger import refusals

    return refusals


def _without(plan: Iterable[Event], paid: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events of a plan that are not among the paid ones, as multisets."""
    # As multisets, because a receipt merges equal draws that the plan may list separately.
    rest = _count(plan)
    # What is left below zero was paid for by another plan of this run, and does not lower the rest.
    rest.subtract(_count(paid))
    return tuple(replace(event, count=count) for event, count in rest.items() if count > 0)


def _count(events: Iterable[Event]) -> Counter[Event]:
    return Counter({replace(event, count=1): event.count for event in merge(events)})
