"""A ledger as its owner reads and caps it: its runs, and the cost of each access."""

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
"""Fewest characters of a run's id that can name it, if no other id begins with them."""


@dataclass(frozen=True)
class RunRow:
    """A run in the ledger.

    Attributes:
        unit: The kind of privacy unit, in a word; the run has ``units`` of them with ``images`` images in
            all.
        named: Whether the ledger knows the units by name as well as by image.
        noise: ``os-csprng`` or ``INSECURE``.
        releases: Releases of private data that were paid for, each with one receipt.
        epsilon: ε spent on one unit of its folder, at its own δ; inf for an INSECURE run that looked at
            private data.
        epsilon_drawn: ε spent on one unit that was drawn from the folder; None if all are used.
        secret_mu: μ for each of the owner's declared secrets; None without any, and inf if only one prior's
            guess, or nothing, is bounded.
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
    """An access to private data. ε is the run's spending after it, at the run's δ; inf for an INSECURE run."""

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
        """Every cap that was ever set, oldest first."""
        return self._entries.caps()

    def set_cap(self, budget: Budget) -> None:
        """Cap what all runs together may spend on any one privacy unit; it applies to runs in progress, too."""
        with self._store.writing():
            self._entries.add_cap(budget)

    def runs(self) -> list[RunRow]:
        """List every run and its spending, oldest first."""
        with self._store.reading():
            return [self._row(each) for each in self._enrolments()]

    def history(self, run_id: str | None = None) -> list[HistoryRow]:
        """List every access to private data, of all runs or one, in the order of payment.

        ``run_id`` may be a unique beginning of an id.

        Raises:
            LedgerError: There is no such run.
        """
        with self._store.reading():
            rows = [row for each in self._enrolments(run_id) for row in self._history(each)]
        return sorted(rows, key=lambda row: row.number)

    def find_most_exposed(self, delta: float) -> CumulativeLoss | None:
        """Find the image, text or patient with the largest ε over all runs, at a δ; None if no run has paid.

        INSECURE runs are left out: no ε bounds them.

        Raises:
            LedgerError: Runs on the same data cannot be added up: they were under two neighbour relations, or the
                number of images of a patient is not declared.
        """
        with self._store.reading():
            paid = [each for each in self._enrolments() if each.terms.secure and self._has_paid(each)]
            bears = [loss for each in paid for loss in self._losses(each)]
        # Not the sum over subjects: a promise is made to each of them.
        return max(bears, key=lambda each: epsilon(each.events, delta), default=None)

    def _has_paid(self, run: Enrolment) -> bool:
        return bool(merge(self._entries.events(run.run_id)))

    def _losses(self, run: Enrolment) -> list[CumulativeLoss]:
        """Return what the subjects of a run bear from all secure runs."""
        events = self._entries.events(run.run_id)
        # As if INSECURE runs were forgotten: with them there is no finite figure to show.
        seen = replace(run, terms=replace(run.terms, forgets_insecure=True))
        return PriorRuns(self._entries, seen).find_affected().losses(events)

    def export(self) -> dict[str, Any]:
        """Export all runs as plain values for an external accountant; nothing in it is private.

        Each run's events are listed as they were paid for, in its receipts, and summed. ε is what each
        accountant proves for them at the run's δ, and null if it proves none, as for an INSECURE run. The
        private side's facts are left out: fingerprints, numbers of units, which runs share data, and times.
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
                f"the ledger knows no run {run_id}: pcevolve budget show lists those that it knows"
            )
        return enrolled

    def _find(self, begin: str) -> tuple[str, ...]:
        known = self._entries.run_ids()
        # A whole id first, as it may also be the beginning of a longer one.
        if begin in known:
            return (begin,)
        found = tuple(each for each in known if len(begin) >= LEAST_OF_AN_ID and each.startswith(begin))
        # An ambiguous beginning finds nothing, rather than somebody else's run.
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
            # Both are shown, because the owner typed the one for a drawn unit, and the promise is the other.
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
                        # A free round also gets a row, so that the history shows every receipt that an
                        # auditor will see.
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
