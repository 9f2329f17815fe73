"""The owner's view of a ledger: its runs, the cost of each access, and the caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.entries import Cap, Enrolment
from pcevolve.keeper.ledger.ledger import Ledger, measure_loss
from pcevolve.keeper.ledger.others import CumulativeLoss, PriorRuns
from pcevolve.public.dp.accountants import ACCOUNTANTS, epsilon, merge
from pcevolve.public.figures import finite_or_none
from pcevolve.public.privacy import FREE, Budget, Event, Relation

LEAST_OF_AN_ID = 4
"""Fewest characters to which a run's id can be abbreviated; the abbreviation must fit one run only."""


@dataclass(frozen=True)
class RunRow:
    """A run in the ledger.

    Attributes:
        unit: The kind of privacy unit, in a word. The run has ``units`` of them, with ``images`` images in
            all.
        named: Whether the ledger identifies the units by name as well as by image.
        noise: ``os-csprng`` or ``INSECURE``.
        releases: Number of paid releases of private data; each has one receipt.
        epsilon: ε spent on one unit of the run's folder, at the run's δ; inf for an INSECURE run that used
            private data.
        epsilon_drawn: ε spent on one unit of the subsample; None without subsampling.
        secret_mu: μ for each of the owner's declared secrets; None without secrets. It is inf for an
            INSECURE run that used private data.
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
    releases: int
    epsilon: float
    epsilon_drawn: float | None
    delta: float
    secret_mu: float | None


@dataclass(frozen=True)
class HistoryRow:
    """An access to private data. ε is the run's spending after the access, at the run's δ; inf for an INSECURE run."""

    number: int
    time: float
    run_id: str
    noise: str
    iteration: int
    mechanism: str
    parameter: str
    count: int
    epsilon: float


class LedgerBook(Ledger):
    """The accounts of all runs on all data, with their history."""

    def caps(self) -> tuple[Cap, ...]:
        return self._entries.caps()

    def set_cap(self, budget: Budget) -> None:
        """Cap ε of all runs together on any one privacy unit; the cap also applies to runs in progress."""
        with self._store.writing():
            self._entries.add_cap(budget)

    def runs(self) -> list[RunRow]:
        """List every run and its spending, oldest first."""
        with self._store.reading():
            return [self._row(each) for each in self._enrolments()]

    def history(self, run_id: str | None = None) -> list[HistoryRow]:
        """List every access to private data in the order of payment, of all runs or of one.

        ``run_id`` may be abbreviated if it stays unique.

        Raises:
            LedgerError: There is no such run.
        """
        with self._store.reading():
            rows = [row for each in self._enrolments(run_id) for row in self._history(each)]
        return sorted(rows, key=lambda row: row.number)

    def find_most_exposed(self, delta: float) -> CumulativeLoss | None:
        """Find the image, text or patient with the largest ε over all runs, at a given δ; None if no run has paid.

        INSECURE runs are left out, because no ε bounds them.

        Raises:
            LedgerError: Runs on the same data cannot be added up. Either they used two neighbour relations,
                or the number of images of a patient is not declared.
        """
        with self._store.reading():
            paid = [each for each in self._enrolments() if each.terms.secure and self._has_paid(each)]
            bears = [loss for each in paid for loss in self._losses(each)]
        # The largest, not the sum over subjects, because the promise is made to each of them.
        return max(bears, key=lambda each: epsilon(each.events, delta), default=None)

    def _has_paid(self, run: Enrolment) -> bool:
        return bool(merge(self._entries.events(run.run_id)))

    def _losses(self, run: Enrolment) -> list[CumulativeLoss]:
        """Return the cumulative events of all secure runs on each subject of a run."""
        events = self._entries.events(run.run_id)
        # INSECURE runs are left out, because with them no finite figure can be shown.
        seen = replace(run, terms=replace(run.terms, forgets_insecure=True))
        return PriorRuns(self._entries, seen).find_affected().losses(events)

    def export(self) -> dict[str, Any]:
        """Export all runs as plain values for an external accountant; nothing in the export is private.

        Each run's events are listed twice, by receipt and as a sum. ε is the value that each accountant
        proves for these events at the run's δ. It is null if the accountant proves none, as for an INSECURE
        run. Private facts are left out: fingerprints, numbers of units, times, and which runs share data.
        """
        with self._store.reading():
            return {
                "caps": [
                    {"epsilon": str(each.budget.epsilon), "delta": each.budget.delta} for each in self.caps()
                ],
                "runs": [self._export(each) for each in self._enrolments()],
            }

    def _enrolments(self, run_id: str | None = None) -> list[Enrolment]:
        wanted = self._entries.run_ids() if run_id is None else self._find(run_id)
        enrolled = [each for each in map(self._entries.enrolment, wanted) if each is not None]
        if run_id is not None and not enrolled:
            raise LedgerError(
                f"the ledger does not contain a run {run_id}: pcevolve budget show lists its runs"
            )
        return enrolled

    def _find(self, begin: str) -> tuple[str, ...]:
        known = self._entries.run_ids()
        # A complete id first, because another id may begin with it.
        if begin in known:
            return (begin,)
        found = tuple(each for each in known if len(begin) >= LEAST_OF_AN_ID and each.startswith(begin))
        # An ambiguous abbreviation finds nothing, so that nobody reads another run by mistake.
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
            releases=sum(
                any(not event.free for event in each.events) for each in self._entries.accesses(run.run_id)
            ),
            epsilon=measure_loss(run, events),
            # Both are shown: the owner typed ε for a unit of the subsample, and the promise covers a unit of
            # the folder.
            epsilon_drawn=measure_loss(run, events, group=1) if run.terms.subsampled else None,
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
                        # Free rounds get a row too, so that the history shows every receipt that an auditor
                        # sees.
                        count=event.count,
                        epsilon=measure_loss(run, done),
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
                each.name: finite_or_none(measure_loss(run, events, measure=each.epsilon))
                for each in ACCOUNTANTS
            },
            "events": [asdict(event) for event in merge(events)],
            "receipts": [each.receipt.as_dict() for each in self._entries.payments(run.run_id)],
        }


def _secret_mu(run: Enrolment, events: Sequence[Event]) -> float | None:
    """Return μ of a run's events on one of its secrets; inf for seeded noise on private data."""
    if run.terms.secrets is None:
        return None
    looked = sum(event.count for event in merge(events))
    return math.inf if looked and not run.terms.secure else run.terms.secrets.budget * math.sqrt(looked)
