"""Events of other runs on one run's data, on its secrets, and on other data.

Other runs also add to the loss of a listed secret. Neighbouring datasets for a secret differ in its value,
in at most M texts. If another run declared the same secrets, each of its accesses was η-GDP for that
change. In any other run the change affects M units at once. Each of them is replaced, which under
``add-remove`` is one removal and one addition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.entries import Enrolment, Entries, Listed
from pcevolve.keeper.ledger.overlap import Exposure, Overlap, bound_group, compute_exposures
from pcevolve.keeper.ledger.units import RunUnits, among
from pcevolve.public.dp.accountants import merge
from pcevolve.public.modality import SINGLE
from pcevolve.public.parts import LedgerCap, PriorReleases
from pcevolve.public.privacy import Event

NAMED = 4
"""Largest number of runs that a refusal names."""


@dataclass(frozen=True)
class CumulativeLoss:
    """The events that affect one subject (an image, a patient).

    Each event's group size is the number of units that change together with the subject.
    ``by_name`` is True if this run shares no image with the other runs, so that only a name links this run to them.
    """

    others: tuple[Event, ...]
    own: tuple[Event, ...]
    kind: str
    runs: tuple[Enrolment, ...]
    by_name: bool

    @property
    def events(self) -> tuple[Event, ...]:
        """All events of this run and others, for one computation of ε."""
        return self.others + self.own


@dataclass(frozen=True)
class PriorRuns:
    """All other runs in the ledger, from one run's point of view."""

    entries: Entries
    run: Enrolment

    def list_enrolled(self) -> list[Enrolment]:
        """List every other run, oldest first, on any data (``LedgerError`` for payments of an unknown run)."""
        ids = self.entries.run_ids()
        return [self._enrolment(run_id) for run_id in ids if run_id != self.run.run_id]

    def earlier(self) -> PriorReleases:
        """Return secure runs with any provider, on any data, and the cap on all of them.

        Returns:
            The number of such runs, and their events on one unit of this run. The events are None if public
            facts do not bound how many of their units change with one of this run's.
        """
        # Runs with any provider, because two providers may combine what they have learned.
        runs = [run for run in self.list_enrolled() if run.terms.secure and self._pays(run)]
        caps = self.entries.caps()
        cap = LedgerCap(epsilon=float(caps[-1].budget.epsilon), delta=caps[-1].budget.delta) if caps else None
        groups = [_group(self.run, run) for run in runs]
        # One unknown group means no sum at all: leaving that run out would understate the loss.
        if None in groups:
            return PriorReleases(releases=len(runs), events=None, cap=cap)
        events = (
            # One unit of a source folder changes several units of a subsample; the two factors multiply.
            event.on_group(size * run.terms.group)
            for run, size in zip(runs, groups, strict=True)
            for event in self.entries.events(run.run_id)
            if size is not None
        )
        return PriorReleases(releases=len(runs), events=merge(events), cap=cap)

    def find_affected(self) -> AffectedUnits:
        """Find the subjects of this run, and the counted runs that share them."""
        enrolled = self.list_enrolled()
        counted = [run for run in enrolled if self.counts(run)]
        # Including runs that paid nothing: only such a run may show that two images are of one patient.
        units = {run.run_id: self.entries.read_units(run) for run in enrolled}
        promising = [units[run.run_id] for run in counted]
        overlap = Overlap.of(self._units, promising, list(units.values()))
        # Other runs are in no sum that this run adds to (proof in ``overlap``).
        touching = tuple(run for run in counted if overlap.touches(units[run.run_id].partition))
        return AffectedUnits(self.entries, self.run, overlap, touching)

    def find_events_on_secret(self, mine: Listed) -> tuple[Event, ...] | None:
        """Find the events of other runs on one secret of the run's owner.

        They come from runs that share data with this one, whatever secrets those declared, and from runs on
        any data that declared the same secrets. Whether runs on other data with other secrets reveal the
        secret is unknown.

        Returns:
            None if one of these runs drew its noise from a seed, because nothing bounds the sum then.
        """
        touching = {each.run_id for each in self.find_affected().others}
        found = [
            each
            for each in self.list_enrolled()
            # Runs that declared the same secrets count on any data, because other texts may contain the
            # secret too.
            if self.counts(each) and (each.run_id in touching or mine.is_declared_in(each))
        ]
        if not all(each.terms.secure for each in found):
            return None
        events = ((each, event) for each in found for event in self.entries.events(each.run_id))
        return tuple(_on_secret(event, each, mine) for each, event in events if not event.free)

    @cached_property
    def _units(self) -> RunUnits:
        return self.entries.read_units(self.run)

    def _enrolment(self, run_id: str) -> Enrolment:
        enrolment = self.entries.enrolment(run_id)
        if enrolment is None:
            raise LedgerError(
                f"run {run_id} has entries in the ledger but was never enrolled: restore a backup"
            )
        return enrolment

    def _pays(self, run: Enrolment) -> bool:
        """True if a run has measured its private data, and so has made a promise."""
        # A control that only drew at random made no promise, so it limits nothing.
        return not all(event.free for event in self.entries.events(run.run_id))

    def counts(self, run: Enrolment) -> bool:
        """True if a run is counted in this run's sums.

        An INSECURE run is not counted if this run forgets such runs, or is INSECURE itself.
        """
        # An INSECURE run promises nothing, so earlier INSECURE runs cannot break its promise.
        left_out = self.run.terms.forgets_insecure or not self.run.terms.secure
        return self._pays(run) and (run.terms.secure or not left_out)


@dataclass(frozen=True)
class AffectedUnits:
    """The subjects of a run, the events on them, and the other runs that share them; see ``overlap``."""

    entries: Entries
    run: Enrolment
    overlap: Overlap
    others: tuple[Enrolment, ...]

    @property
    def insecure(self) -> bool:
        """True if no ε bounds the sum, because one of the other runs drew noise from a seed."""
        return any(not each.terms.secure for each in self.others)

    @property
    def named_insecure(self) -> str:
        """Names of the INSECURE runs among the others, for their owner."""
        return name_runs(each for each in self.others if not each.terms.secure)

    def losses(self, events: tuple[Event, ...]) -> list[CumulativeLoss]:
        """Return the events on each subject, without subjects that bear no more than another one.

        Args:
            events: The run's own events on its units, past or planned.

        Raises:
            LedgerError: One of the runs used another relation, or a bound on images must be declared.
        """
        own = self.entries.read_units(self.run).partition.images
        # Computed once per run, because the comparison goes over all images.
        shares = {
            run.run_id: bool(among(own, self.entries.read_units(run).partition.images).any())
            for run in self.others
        }
        losses = []
        for each in self._exposures():
            runs = tuple(run for run in self.others if each.sizes.get(run.run_id))
            by_name = bool(runs) and not any(shares[run.run_id] for run in runs)
            losses.append(
                CumulativeLoss(self._by_others(each), self._own(each, events), each.kind, runs, by_name)
            )
        return losses

    def _exposures(self) -> list[Exposure]:
        """Return, for each subject, how many units of each run change with it, including this run."""
        # Refused, not converted: a factor of 2 converts in one direction, and nothing bounds the other.
        for run in self.others:
            if run.relation != self.run.relation:
                raise LedgerError(
                    "earlier runs on these data used a different neighbour relation: use the same "
                    f"relation, --set privacy.relation={run.relation}, as {name_runs([run])} did"
                )
        done = {run.run_id: (merge(self.entries.events(run.run_id)), run.terms.group) for run in self.others}
        units = list(map(self.entries.read_units, (*self.others, self.run)))
        return compute_exposures(
            self.overlap, units, self.run.relation, {**done, self.run.run_id: self.run.run_id}
        )

    def _by_others(self, exposure: Exposure) -> tuple[Event, ...]:
        groups = {run.run_id: run.terms.group for run in self.others}
        return tuple(
            event.on_group(size * groups[run_id])
            for run_id, size in sorted(exposure.sizes.items())
            for event in self.entries.events(run_id)
            if run_id != self.run.run_id
        )

    def _own(self, exposure: Exposure, events: Iterable[Event]) -> tuple[Event, ...]:
        size = exposure.sizes.get(self.run.run_id)
        return tuple(event.on_group(size * self.run.terms.group) for event in events) if size else ()


def name_runs(runs: Iterable[Enrolment]) -> str:
    """Name runs by folder, id and day, oldest first, as their owner knows them; for the owner's screen only."""
    known = sorted(runs, key=lambda each: (each.began, each.run_id))
    listed = [
        f"{each.origin.folder or 'a run'} ({each.run_id[:8]}, {datetime.fromtimestamp(each.began, UTC).date()})"
        for each in known[:NAMED]
    ]
    more = len(known) - len(listed)
    return ", ".join(listed) + (f" and {more} more, listed by pcevolve budget show" if more else "")


def _group(mine: Enrolment, other: Enrolment) -> int | None:
    """Return the largest number of the other run's units that can change if one unit of this run changes.

    Only public facts are used. None if they do not bound the number.
    """
    if mine.relation != other.relation:
        return None
    # Compared by the word for the unit: with equal words, one unit here changes one unit there.
    if mine.unit.casefold() == other.unit.casefold():
        return 1
    # Without a declared number, one patient might have any number of the other run's units.
    most = 1 if mine.unit in SINGLE else mine.terms.unit_size
    return None if most is None else bound_group(most, other.unit not in SINGLE, mine.relation)


def _on_secret(event: Event, run: Enrolment, mine: Listed) -> Event:
    """Return a run's event as an event on one secret."""
    theirs = run.terms.secrets
    # That run made a promise to this very secret; its events on whole units would overstate the loss.
    if theirs is not None and mine.is_declared_in(run):
        return theirs.as_event(event.count)
    # Replacing a unit is one change under replace-one; under add-remove it is a removal and an addition.
    changes = 1 if run.relation == "replace-one" else 2
    return event.on_group(changes * mine.most * run.terms.group)
