"""One run's account: the gate that every release passes, and the only way to pay for one.

Two limits hold at once: what the run may spend, and what all runs together may spend on any one privacy unit.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pcevolve.dp.accountants import epsilon, merged, within
from pcevolve.errors import BudgetError, LedgerError
from pcevolve.ledger.entries import Enrolment, Entries
from pcevolve.ledger.overlap import Exposure, Party, Reach, exposures, largest_group
from pcevolve.ledger.units import IMAGE
from pcevolve.privacy import Budget, Event
from pcevolve.public.figures import loss, upwards
from pcevolve.public.plan import Earlier
from pcevolve.public.release import Choice, Query, Receipt


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

    entries: Entries
    run: Enrolment
    limits: Limits

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.entries.store.path

    @property
    def is_first(self) -> bool:
        """Whether the ledger knows of no other run, on whatever data."""
        return not self._others()

    @property
    def enrolled(self) -> bool:
        """Whether the run is on record here."""
        return self.entries.enrolment(self.run.run_id) is not None

    def enrol(self) -> Self:
        """Put the run on record, or recognise it when it is resumed.

        Returns:
            This account, which can pay from now on.

        Raises:
            LedgerError: The run was begun with other data, or under another promise.
        """
        with self.entries.store.writing():
            if not self.enrolled:
                self.entries.enrol(self.run)
            else:
                self.recognise()
        return self

    def recognise(self) -> None:
        """Refuse to go on with other data than the run began with, or under another promise; new runs are welcome.

        Raises:
            LedgerError: As it says.
        """
        known = self.entries.enrolment(self.run.run_id)
        if known is None:
            return
        if known.units != self.run.units:
            raise LedgerError("the private data are not those that this run began with: nothing was spent")
        if (known.relation, known.unit, known.terms) != (self.run.relation, self.run.unit, self.run.terms):
            raise LedgerError(
                f"this run began with --relation {known.relation}, one {known.unit} as its privacy unit, --unit-size "
                f"{known.terms.unit_size or 'not given'}, and noise and provider of its own: resume it so"
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
        with self.entries.store.writing():
            known = self.entries.receipt(query)
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
            self.entries.pay(query, receipt, paid.measured)
        return receipt

    def receipt(self, query: Query) -> Receipt | None:
        """The receipt of a query that was paid for before, if it was."""
        return self.entries.receipt(query)

    def measured(self, iteration: int) -> bytes:
        """What the private side kept of this run's paid measurement of a round; private, empty if there was none."""
        return self.entries.measured(Query(self.run.run_id, iteration))

    def committed(self, receipt: Receipt) -> bool:
        """Whether exactly this receipt was paid for by this run."""
        query = Query(receipt.run_id, receipt.iteration)
        return receipt.run_id == self.run.run_id and self.receipt(query) == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """Everything this run paid for, oldest first: the export that auditors read."""
        return self.entries.receipts(self.run.run_id)

    def spent_before(self) -> float:
        """ε of all other runs on the worst subject that this run concerns, at the lifetime limit's δ; may be inf.

        Raises:
            LedgerError: It cannot be said, for the reasons for which ``require`` refuses.
        """
        with self.entries.store.reading():
            reach, others = self._concerned()
            if any(not each.terms.secure for each in others):
                return math.inf
            found = self._exposures(reach, others)
            return max(epsilon(self._by_others(each), self.limits.lifetime.delta) for each in found)

    def earlier(self) -> Earlier:
        """What the same provider has seen of other runs with noise, on whatever data; see ``Earlier``."""
        with self.entries.store.reading():
            runs = [run for run in self._others() if self._is_earlier(run)]
            groups = [_group(self.run, run) for run in runs]
            if None in groups:
                return Earlier(releases=len(runs), events=None)
            events = (
                event.on_group(size)
                for run, size in zip(runs, groups, strict=True)
                for event in self.entries.events(run.run_id)
                if size is not None
            )
            return Earlier(releases=len(runs), events=merged(events))

    def require(self, events: Iterable[Event]) -> None:
        """Refuse a plan that does not fit, before anything is spent; the run need not be on record yet.

        Args:
            events: Those of the whole plan; what this run has already paid of them is not counted again.

        Raises:
            BudgetError: The plan costs more than the run's or the lifetime limit, or an INSECURE run used these data.
            LedgerError: What was spent on these data was spent under another relation, or how many images a patient
                has must be declared.
        """
        with self.entries.store.reading():
            self._afford(_without(events, self.entries.events(self.run.run_id)))

    def _afford(self, new: tuple[Event, ...]) -> None:
        if all(event.free for event in new):
            return
        own = self.entries.events(self.run.run_id)
        if not within(own + new, self.limits.run):
            raise BudgetError(_over_run(own, new, self.limits.run))
        reach, others = self._concerned()
        _refuse_insecure(others)
        found = [
            (self._by_others(each), self._own(each, own + new), each)
            for each in self._exposures(reach, others)
        ]
        over = [each for each in found if not within(each[0] + each[1], self.limits.lifetime)]
        if over:
            delta = self.limits.lifetime.delta
            theirs, mine, exposure = max(over, key=lambda each: epsilon(each[0] + each[1], delta))
            raise BudgetError(_over_lifetime(theirs, mine, self.limits.lifetime, exposure.kind))

    @cached_property
    def _party(self) -> Party:
        return self.entries.read(self.run)

    def _others(self) -> list[Enrolment]:
        """All other runs."""
        ids = self.entries.run_ids()
        return [_known(self.entries, run_id) for run_id in ids if run_id != self.run.run_id]

    def _pays(self, run: Enrolment) -> bool:
        """Whether a run has looked at its private data, and so has promised something."""
        return not all(event.free for event in self.entries.events(run.run_id))

    def _counts(self, run: Enrolment) -> bool:
        """Whether a run is to be counted: an INSECURE one is not where none is asked for, or nothing is promised."""
        left_out = self.run.terms.forgets_insecure or not self.run.terms.secure
        return self._pays(run) and (run.terms.secure or not left_out)

    def _is_earlier(self, run: Enrolment) -> bool:
        host, theirs = (urlsplit(each.terms.provider).netloc.lower() for each in (self.run, run))
        return host == theirs and run.terms.secure and self._pays(run)

    def _concerned(self) -> tuple[Reach, list[Enrolment]]:
        """The subjects that this run concerns, and the other runs that touch them and count."""
        enrolled = self._others()
        counted = [run for run in enrolled if self._counts(run)]
        parties = {run.run_id: self.entries.party(run) for run in enrolled}
        promising = [parties[run.run_id] for run in counted]
        reach = Reach.of(self._party, promising, list(parties.values()))
        return reach, [run for run in counted if reach.touches(parties[run.run_id].cut)]

    def _exposures(self, reach: Reach, others: list[Enrolment]) -> list[Exposure]:
        """What the subjects bear of these runs and of this one.

        Raises:
            LedgerError: One of the runs was under another relation, or a bound on images must be declared.
        """
        for run in others:
            if run.relation != self.run.relation:
                raise LedgerError(
                    "earlier runs on these data used another neighbour relation: use the same, "
                    f"--relation {run.relation}"
                )
        done = {run.run_id: merged(self.entries.events(run.run_id)) for run in others}
        parties = [*map(self.entries.party, others), self._party]
        return exposures(reach, parties, self.run.relation, {**done, self.run.run_id: self.run.run_id})

    def _by_others(self, exposure: Exposure) -> tuple[Event, ...]:
        """What other runs did to a subject."""
        return tuple(
            event.on_group(size)
            for run_id, size in sorted(exposure.sizes.items())
            for event in self.entries.events(run_id)
            if run_id != self.run.run_id
        )

    def _own(self, exposure: Exposure, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """What this run does to a subject; every subject that it concerns is touched by it or promised to by it."""
        size = exposure.sizes.get(self.run.run_id)
        return tuple(event.on_group(size) for event in events) if size else ()


def _group(mine: Enrolment, other: Enrolment) -> int | None:
    """How many units of another run can change with one unit of this run, by public facts; None if nobody can say."""
    if mine.relation != other.relation:
        return None
    if mine.unit.casefold() == other.unit.casefold():
        return 1
    most = 1 if mine.unit == IMAGE else mine.terms.unit_size
    return None if most is None else largest_group(most, other.unit != IMAGE, mine.relation)


def _refuse_insecure(runs: Iterable[Enrolment]) -> None:
    if any(not run.terms.secure for run in runs):
        raise BudgetError(
            "an INSECURE run used these data: its noise came from a seed, so no epsilon bounds what all runs together "
            "reveal. Use data that no such run has seen, or leave such runs out of the sum knowingly, with "
            "--forget-insecure; card and report will say so"
        )


def _known(entries: Entries, run_id: str) -> Enrolment:
    enrolment = entries.enrolment(run_id)
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


def _over_lifetime(others: tuple[Event, ...], own: tuple[Event, ...], limit: Budget, kind: str) -> str:
    total = epsilon(others + own, limit.delta)
    if math.isinf(total):
        return _unbounded(limit)
    return (
        f"earlier runs already spent epsilon={loss(epsilon(others, limit.delta))} on these data, for the one {kind} "
        f"that is worst off, whose lifetime limit is {float(limit.epsilon):g} at delta {limit.delta:g}; this would "
        f"make it {upwards(total)}. Use the dataset that is already paid for, or raise the limit knowingly with "
        f"--lifetime-epsilon {upwards(total)}"
    )


def _unbounded(limit: Budget) -> str:
    return (
        f"at delta {limit.delta:g} no epsilon bounds what these mechanisms, or those of earlier runs on these data, "
        "reveal: nothing was drawn; allow a --delta above 0"
    )
