"""One run's account in the ledger: the only way to pay for a release.

Two limits apply at once. One is on the run's own spending. The other is on the spending of all runs
together on any one privacy unit, which ``others`` sums up.
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
        run: Limit on this run's spending.
        lower: The run's own limit on ε of all runs together on any one privacy unit, at most the ledger's
            cap. None for the cap itself.
        folder: If units are subsampled from a folder, ε of the run for one unit of that folder; else None.
    """

    run: Budget
    lower: Fraction | None = None
    folder: Fraction | None = None


@dataclass(frozen=True)
class Paid:
    """The outcome of a draw; all of it is public once it is paid for.

    Attributes:
        measured: Safetensors bytes. They are stored, because the private side never measures twice, and an
            auditor derives the choices from them.
    """

    choices: tuple[Choice, ...]
    measured: bytes = b""
    values: tuple[float, ...] = ()


class Record(Protocol):
    """The facts about a run's record that its account needs."""

    @property
    def head(self) -> str:
        """Digest that commits to everything on record."""
        ...

    def has(self, receipt: Receipt) -> bool: ...


class NoRecord:
    """The record of a run that writes none."""

    head = ""

    def has(self, _receipt: Receipt) -> bool:
        """Return False, because nothing is on record."""
        return False


@dataclass(frozen=True)
class Account:
    """One run's account. A run enters the ledger with ``enrol``."""

    entries: Entries
    run: Enrolment
    limits: Limits
    record: Record

    @property
    def lifetime(self) -> Budget:
        """The limit on ε of all runs together on any one privacy unit; without a cap, this run's own limit.

        Raises:
            BudgetError: The run's ``lower`` limit is above the cap.
        """
        caps, lower = self.entries.caps(), self.limits.lower
        own = (
            self.limits.run
            if self.limits.folder is None
            else replace(self.limits.run, epsilon=self.limits.folder)
        )
        # Without a cap, the run's own limit applies to all runs, because nobody has allowed more than that.
        limit = caps[-1].budget if caps else own
        if lower is None:
            return limit
        # A run may only lower the cap for itself; raising it is up to those responsible for the data.
        if lower > limit.epsilon:
            raise BudgetError(_refusals().spell_raising(lower, limit, bool(caps)))
        return Budget(lower, limit.delta)

    @property
    def is_first(self) -> bool:
        """True if the ledger knows no other run, on any data."""
        return not self._others.list_enrolled()

    @property
    def enrolled(self) -> bool:
        return self.entries.enrolment(self.run.run_id) is not None

    def enrol(self) -> Self:
        """Enter the run in the ledger; for a resumed run, only check its terms (``require_same_terms``)."""
        # Checked inside the lock: if two processes begin one run, the second finds it enrolled.
        with self.entries.store.writing():
            # Enrolment stores the units; without it, a payment could not be charged to any unit.
            if not self.enrolled:
                self.entries.enrol(self.run)
            else:
                self.require_same_terms()
        return self

    def require_same_terms(self) -> None:
        """Refuse to resume a run if its data or its guarantee have changed since it began; accept a new run.

        Raises:
            LedgerError: The units, their classes or secrets, the relation, the kind of unit or the terms
                differ from the enrolment.
        """
        # A resumed run reuses its receipts, which are valid only for the units that they were drawn from.
        known = self.entries.enrolment(self.run.run_id)
        if known is None:
            return
        if known.units != self.run.units:
            raise LedgerError(
                "the private data differ from those that this run began with: restore the original data, "
                "or begin a new run; nothing more was spent"
            )
        if known.data != self.run.data:
            raise LedgerError(
                "the images or texts are those that this run began with, but a label or a declared "
                "secret has changed: restore the original data, or begin a new run; nothing more was "
                "spent"
            )
        if (known.relation, known.unit, known.terms) != (self.run.relation, self.run.unit, self.run.terms):
            raise LedgerError(
                f"this run began with other settings (privacy.relation {known.relation}, privacy unit one "
                f"{known.unit}, data.unit_size {known.terms.unit_size or 'not given'}), or with another "
                "noise or provider: resume with the same settings"
            )

    def pay(self, query: Query, events: Iterable[Event], draw: Callable[[], Paid]) -> Receipt:
        """Draw and pay in one transaction, or return the earlier receipt for this query.

        Args:
            events: The draw's events on the private data.
            draw: Makes the draw; called at most once, and only if the budget covers the events.

        Raises:
            BudgetError: Too little of the budget is left; nothing was drawn.
            LedgerError: The ledger could not store the payment; nothing was released.
        """
        # An error in the code, not the user's; refused, because it would charge the wrong subjects.
        if query.run_id != self.run.run_id:
            raise LedgerError(f"run {self.run.run_id} cannot pay for a query of run {query.run_id}")
        events = tuple(events)
        # One transaction for lookup, draw and row. A crash in between rolls back a draw that nobody has seen,
        # and two processes cannot both find the query unpaid.
        with self.entries.store.writing():
            # Before the limits: a paid receipt is returned even with no budget left, or a crash after commit
            # would lose it.
            known = self.receipt(query)
            if known is not None:
                return known
            if not self.enrolled:
                raise LedgerError(
                    f"run {self.run.run_id} is not in the ledger, so it cannot pay: enrol it first"
                )
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
        """Return the receipt of a query that was paid for before; None otherwise.

        Raises:
            LedgerError: The receipt was drawn among the candidates of another copy of this run.
        """
        known = self.entries.payment(query)
        if known is None:
            return None
        # The receipt's choices name candidates of one record. A copy of the record that continued differently
        # has other images under these names.
        if not self.record.has(known.receipt) and known.record != self.record.head:
            raise LedgerError(
                "another copy of this run's folder was continued, and the ledger contains its release: "
                "continue with that copy; nothing was released in this copy"
            )
        return known.receipt

    def read_measured(self, iteration: int) -> bytes:
        """Return the stored measurement of a round; empty if there was none."""
        return self.entries.read_measured(Query(self.run.run_id, iteration))

    def is_committed(self, receipt: Receipt) -> bool:
        """True if the ledger contains exactly this receipt for the run."""
        query = Query(receipt.run_id, receipt.iteration)
        # The whole receipt is compared, so that forged choices for a paid round are refused too.
        known = self.entries.payment(query)
        return receipt.run_id == self.run.run_id and known is not None and known.receipt == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """List everything that this run paid for, oldest first, for auditors."""
        return tuple(each.receipt for each in self.entries.payments(self.run.run_id))

    def compute_spent_before(self) -> float:
        """Return ε of all other runs on this run's most exposed subject, at the cap's δ; inf if no ε bounds it.

        Raises:
            LedgerError: The sum cannot be computed, for the same reasons as in ``require``.
        """
        with self.entries.store.reading():
            affected = self._others.find_affected()
            # Noise from a known seed can be subtracted, so no number bounds what such a run revealed.
            if affected.insecure:
                return math.inf
            delta = self.lifetime.delta
            # The most exposed subject, because the limit is a promise to each subject; an average would hide
            # the largest loss.
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
            # Computed together, because ε of both lists of events is less than the sum of their ε.
            return max(epsilon(each.events, delta) for each in affected.losses(own))

    def borne_by_secrets(self) -> tuple[Event, ...] | None:
        """Return other runs' events on one of this run's secrets; None after an INSECURE run."""
        if self.run.terms.secrets is None:
            return ()
        with self.entries.store.reading():
            return self._others.find_events_on_secret(self.run.terms.secrets)

    def earlier(self) -> PriorReleases:
        """Return the ledger's secure runs on any data, and its cap; see ``PriorRuns.earlier``."""
        with self.entries.store.reading():
            return self._others.earlier()

    def require(self, events: Iterable[Event]) -> None:
        """Refuse a plan that exceeds a limit, before anything is spent; the run need not be enrolled yet.

        Events of the plan that this run has already paid for are not counted again.

        Raises:
            BudgetError: The plan costs more than the run's budget or the cap allows, or an INSECURE run
                used these data.
            LedgerError: Earlier spending on these data was under another relation, or the number of images
                of a patient must be declared.
        """
        with self.entries.store.reading():
            _ = self.lifetime  # a limit above the cap is refused even if nothing is spent
            self._afford(_without(events, self.entries.events(self.run.run_id)))

    def _afford(self, new: tuple[Event, ...]) -> None:
        """Refuse events that exceed this run's limit, or the limit of a subject of this run."""
        # Free events use nothing private, so a control may run with no budget left.
        if all(event.free for event in new):
            return
        own = self.entries.events(self.run.run_id)
        # Paid and new events are computed together: under Gaussian and Rényi accounting, ε cannot be
        # subtracted.
        if not within(own + new, self.limits.run):
            raise BudgetError(_refusals().spell_over_run(own, new, self.limits.run))
        affected, limit = self._others.find_affected(), self.lifetime
        # Before any sum: whoever guesses a seed can subtract the noise, so no ε holds.
        if affected.insecure:
            raise BudgetError(_refusals().spell_insecure(affected))
        over = [each for each in affected.losses(own + new) if not within(each.events, limit)]
        if over:
            # Only the worst subject is named, because which other subjects are over the limit is private.
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
    """Return the events of a plan minus the paid ones, as multisets."""
    # As multisets, because a receipt merges equal draws that the plan may list separately.
    rest = _count(plan)
    # A negative count was paid for under another plan of this run; it must not reduce other events.
    rest.subtract(_count(paid))
    return tuple(replace(event, count=count) for event, count in rest.items() if count > 0)


def _count(events: Iterable[Event]) -> Counter[Event]:
    return Counter({replace(event, count=1): event.count for event in merge(events)})
