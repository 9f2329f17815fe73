"""One run's account: the gate that every release passes, and the only way to pay for one.

Two limits hold at once: what the run may spend, and what all runs together may spend on any one privacy unit.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

from ..errors import BudgetError, LedgerError
from ..figures import loss, upwards
from ..privacy import Budget, Event
from ..release import Choice, Query, Receipt
from .accountants import epsilon, merged, within
from .overlap import Exposure, exposures
from .records import Enrolment, Records


@dataclass(frozen=True)
class Limits:
    """How much may be spent.

    Attributes:
        run: By this run.
        lifetime: On any one privacy unit, by all runs that ever used it.
    """

    run: Budget
    lifetime: Budget


@dataclass(frozen=True)
class Paid:
    """What a draw returns.

    Attributes:
        choices: What it chose; public once it is paid for.
        measured: What was measured, as safetensors: the private side never measures twice, and an auditor can
            derive the choices from it; public once it is paid for.
        values: Released numbers; public once they are paid for.
    """

    choices: tuple[Choice, ...]
    measured: bytes = b""
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Account:
    """One run's view of the ledger; nothing is on record of the run until ``enrol``.

    Attributes:
        records: The ledger's rows.
        run: Who asks, and the data that it is bound to.
        limits: What may be spent.
    """

    records: Records
    run: Enrolment
    limits: Limits

    @property
    def enrolled(self) -> bool:
        """Whether the run is on record here."""
        return self.records.enrolment(self.run.run_id) is not None

    def enrol(self) -> Self:
        """Put the run on record, or recognise it when it is resumed.

        Returns:
            This account, which can pay from now on.

        Raises:
            LedgerError: The run was begun with other data, or under another promise.
        """
        with self.records.book.writing():
            if not self.enrolled:
                self.records.enrol(self.run)
            else:
                self.recognise()
        return self

    def recognise(self) -> None:
        """Refuse to go on with other data than the run began with, or under another promise; new runs are welcome.

        Raises:
            LedgerError: As it says.
        """
        known = self.records.enrolment(self.run.run_id)
        if known is None:
            return
        if known.units != self.run.units:
            raise LedgerError("the private data are not those that this run began with: nothing was spent")
        if (known.relation, known.unit) != (self.run.relation, self.run.unit):
            raise LedgerError(
                f"this run began with --relation {known.relation} and one {known.unit} as its privacy unit: "
                "resume it so"
            )

    def pay(self, query: Query, events: Iterable[Event], draw: Callable[[], Paid]) -> Receipt:
        """Draw and pay in one transaction, or return what was drawn and paid for this query before.

        Args:
            query: The question; asked once in the life of a run.
            events: What the draw does to the private data.
            draw: Makes the draw; called only when it can be paid for, and at most once.

        Raises:
            BudgetError: Not enough is left; nothing was drawn.
            LedgerError: The ledger could not record it; nothing was released.
        """
        if query.run_id != self.run.run_id:
            raise LedgerError(f"run {self.run.run_id} cannot pay for a query of run {query.run_id}")
        events = tuple(events)
        with self.records.book.writing():
            known = self.records.receipt(query)
            if known is not None:
                return known
            if not self.enrolled:
                raise LedgerError(f"run {self.run.run_id} is not on record, so it cannot pay: enrol it first")
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
            self.records.pay(query, receipt, paid.measured)
        return receipt

    def recorded(self, query: Query) -> Receipt | None:
        """The receipt of a query that was paid for before, if it was."""
        return self.records.receipt(query)

    def measured(self, iteration: int) -> bytes:
        """What the private side kept of this run's paid measurement of a round; private, empty if there was none."""
        return self.records.measured(Query(self.run.run_id, iteration))

    def committed(self, receipt: Receipt) -> bool:
        """Whether exactly this receipt was paid for by this run."""
        query = Query(receipt.run_id, receipt.iteration)
        return receipt.run_id == self.run.run_id and self.recorded(query) == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """Everything this run paid for, oldest first: the export that auditors read."""
        return self.records.receipts(self.run.run_id)

    def spent_before(self) -> float:
        """ε of all other runs on the worst privacy unit that this run touches, at the lifetime limit's δ."""
        with self.records.book.reading():
            return max(
                epsilon(self._by_others(each), self.limits.lifetime.delta) for each in self._exposures()
            )

    def require(self, events: Iterable[Event]) -> None:
        """Refuse a plan that does not fit, before anything is spent; the run need not be on record yet.

        Args:
            events: Those of the whole plan; what this run has already paid of them is not counted again.

        Raises:
            BudgetError: The plan costs more than the run's or the lifetime limit.
            LedgerError: What was spent on these data was spent under another relation.
        """
        with self.records.book.reading():
            self._afford(_without(events, self.records.events(self.run.run_id)))

    def _afford(self, new: tuple[Event, ...]) -> None:
        if all(event.free for event in new):
            return
        own = self.records.events(self.run.run_id)
        if not within(own + new, self.limits.run):
            raise BudgetError(_over_run(own, new, self.limits.run))
        for exposure in self._exposures():
            others, size = self._by_others(exposure), exposure.get(self.run.run_id, 1)
            mine = tuple(event.on_group(size) for event in own + new)
            if not within(others + mine, self.limits.lifetime):
                raise BudgetError(_over_lifetime(others, mine, self.limits.lifetime))

    def _exposures(self) -> list[Exposure]:
        """Of each privacy unit that may be the worst off: this run's own, and those that paying runs promised to."""
        paying = self._paying()
        mine = frozenset().union(*self.run.units)
        theirs = {unit for run in paying for unit in run.units if not mine.isdisjoint(unit)}
        runs = {run.run_id: run.units for run in (*paying, self.run)}
        return exposures([*theirs.union(self.run.units)], runs, self.run.relation)

    def _paying(self) -> list[Enrolment]:
        """Other runs that have spent something on some of these data.

        Raises:
            LedgerError: It was spent under another relation.
        """
        mine = frozenset().union(*self.run.units)
        others = [
            _known(self.records, run_id) for run_id in self.records.run_ids() if run_id != self.run.run_id
        ]
        found = [
            run
            for run in others
            if not all(event.free for event in self.records.events(run.run_id))
            and not mine.isdisjoint(frozenset().union(*run.units))
        ]
        for run in found:
            if run.relation != self.run.relation:
                raise LedgerError(
                    "earlier runs on these data used another neighbour relation: use the same, "
                    f"--relation {run.relation}"
                )
        return found

    def _by_others(self, exposure: Exposure) -> tuple[Event, ...]:
        """What other runs did to a unit."""
        return tuple(
            event.on_group(size)
            for run_id, size in sorted(exposure.items())
            for event in self.records.events(run_id)
            if run_id != self.run.run_id
        )


def _known(records: Records, run_id: str) -> Enrolment:
    enrolment = records.enrolment(run_id)
    if enrolment is None:
        raise LedgerError(f"run {run_id} has entries in the ledger but was never enrolled: restore a backup")
    return enrolment


def _without(plan: Iterable[Event], paid: Iterable[Event]) -> tuple[Event, ...]:
    """The events of a plan that are not among the paid ones, as multisets."""
    rest = _counted(plan)
    rest.subtract(_counted(paid))
    return tuple(replace(event, count=count) for event, count in rest.items() if count > 0)


def _counted(events: Iterable[Event]) -> Counter[Event]:
    return Counter({replace(event, count=1): event.count for event in merged(events)})


def _over_run(own: tuple[Event, ...], new: tuple[Event, ...], limit: Budget) -> str:
    asked = epsilon(new, limit.delta)
    left = max(0.0, float(limit.epsilon) - epsilon(own, limit.delta))
    if math.isinf(asked):
        return _unbounded(limit)
    return (
        f"asked epsilon={asked:g}, {left:g} left in this run at delta {limit.delta:g}: nothing was drawn; "
        "use fewer iterations, or begin a run with a larger --epsilon"
    )


def _over_lifetime(others: tuple[Event, ...], own: tuple[Event, ...], limit: Budget) -> str:
    total = epsilon(others + own, limit.delta)
    if math.isinf(total):
        return _unbounded(limit)
    return (
        f"earlier runs already spent epsilon={loss(epsilon(others, limit.delta))} on these data, whose lifetime limit "
        f"is {float(limit.epsilon):g} at delta {limit.delta:g}; this would make it {upwards(total)}. Use the dataset "
        f"that is already paid for, or raise the limit knowingly with --lifetime-epsilon {upwards(total)}"
    )


def _unbounded(limit: Budget) -> str:
    return (
        f"at delta {limit.delta:g} no epsilon bounds what these mechanisms, or those of earlier runs on these data, "
        "reveal: nothing was drawn; allow a --delta above 0"
    )
