"""One run's account: the gate that every release passes, and the only way to pay for one.

Two limits hold at once: what the run may spend, and what all runs together may spend on any one privacy unit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal

from ..errors import BudgetError, LedgerError
from ..privacy import Budget, Event, Relation
from ..release import Choice, Query, Receipt
from .accountants import epsilon, merged, within
from .overlap import Exposure, exposures
from .records import Enrolment, Records, Unit


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
        measured: What the private side needs to remember of it, so that it never measures twice.
        values: Released numbers; public once they are paid for.
    """

    choices: tuple[Choice, ...]
    measured: bytes = b""
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Account:
    """One run's view of the ledger."""

    records: Records
    run_id: str
    relation: Relation
    limits: Limits

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
        if query.run_id != self.run_id:
            raise LedgerError(f"run {self.run_id} cannot pay for a query of run {query.run_id}")
        events = tuple(events)
        with self.records.book.writing():
            known = self.records.receipt(query)
            if known is not None:
                return known
            self._afford(events)
            paid = draw()
            receipt = Receipt(self.run_id, query.iteration, paid.choices, events, self.relation, paid.values)
            self.records.pay(query, receipt, paid.measured)
        return receipt

    def recorded(self, query: Query) -> Receipt | None:
        """The receipt of a query that was paid for before, if it was."""
        return self.records.receipt(query)

    def measured(self, iteration: int) -> bytes:
        """What the private side kept of this run's paid measurement of a round; private, empty if there was none."""
        return self.records.measured(Query(self.run_id, iteration))

    def committed(self, receipt: Receipt) -> bool:
        """Whether exactly this receipt was paid for by this run."""
        query = Query(receipt.run_id, receipt.iteration)
        return receipt.run_id == self.run_id and self.recorded(query) == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """Everything this run paid for, oldest first: the export that auditors read."""
        return self.records.receipts(self.run_id)

    def spent_before(self) -> float:
        """ε of all other runs on the worst of this run's units, at the lifetime limit's δ."""
        with self.records.book.reading():
            return max(epsilon(each, self.limits.lifetime.delta) for each in self._by_others())

    def require(self, events: Iterable[Event]) -> None:
        """Refuse a plan that does not fit, before anything is spent.

        Args:
            events: Those of the whole plan; what this run has already paid of them is not counted again.

        Raises:
            BudgetError: The plan costs more than the run's or the lifetime limit.
        """
        with self.records.book.reading():
            self._afford(_without(events, self.records.events(self.run_id)))

    def _afford(self, new: tuple[Event, ...]) -> None:
        if all(event.free for event in new):
            return
        own = self.records.events(self.run_id)
        if not within(own + new, self.limits.run):
            raise BudgetError(_over_run(own, new, self.limits.run))
        for others in self._by_others():
            if not within(others + own + new, self.limits.lifetime):
                raise BudgetError(_over_lifetime(others, own + new, self.limits.lifetime))

    def _by_others(self) -> list[tuple[Event, ...]]:
        """What other runs did to this run's units: one list of events for each unit that may be the worst."""
        runs = {run_id: _known(self.records, run_id) for run_id in self.records.run_ids()}
        mine = runs.pop(self.run_id)
        units = {run_id: each.units for run_id, each in runs.items()}
        return [self._events_of(each) for each in exposures(mine.units, units, self.relation)]

    def _events_of(self, exposure: Exposure) -> tuple[Event, ...]:
        return tuple(
            event.on_group(size)
            for run_id, size in sorted(exposure.items())
            for event in self.records.events(run_id)
        )


def enrolled(records: Records, wanted: Enrolment) -> None:
    """Record a run, or recognise it when it is resumed; within ``book.writing()``.

    Raises:
        LedgerError: The run was begun with other data, or its data were used under another relation.
    """
    known = records.enrolment(wanted.run_id)
    if known is None:
        _refuse_mixed_relations(records, wanted)
        records.enrol(wanted)
        return
    if known.units != wanted.units:
        raise LedgerError("the private data are not those that this run began with: nothing was spent")
    if (known.relation, known.unit) != (wanted.relation, wanted.unit):
        raise LedgerError(
            f"this run began with --relation {known.relation} and one {known.unit} as its privacy unit: resume it so"
        )


def _refuse_mixed_relations(records: Records, wanted: Enrolment) -> None:
    mine: Unit = frozenset().union(*wanted.units)
    for run_id in records.run_ids():
        other = _known(records, run_id)
        if other.relation != wanted.relation and not mine.isdisjoint(frozenset().union(*other.units)):
            raise LedgerError(
                "earlier runs on these data used another neighbour relation: use the same, "
                f"--relation {other.relation}"
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
        f"earlier runs already spent epsilon={epsilon(others, limit.delta):g} on these data, whose lifetime limit is "
        f"{float(limit.epsilon):g} at delta {limit.delta:g}; this would make it {_upwards(total)}. Use the dataset "
        f"that is already paid for, or raise the limit knowingly with --lifetime-epsilon {_upwards(total)}"
    )


def _unbounded(limit: Budget) -> str:
    return (
        f"at delta {limit.delta:g} no epsilon bounds what these mechanisms, or those of earlier runs on these data, "
        "reveal: nothing was drawn; allow a --delta above 0"
    )


def _upwards(value: float) -> str:
    """Six digits that are not below the value, so that a limit copied from a message is enough."""
    rounded = Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{rounded.normalize():f}"
