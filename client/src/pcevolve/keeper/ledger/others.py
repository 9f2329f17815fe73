"""Events of other runs on one run's data, on its secrets, and on other data.

A listed secret, to which one run promises something, bears losses through other runs. Neighbours are datasets
in which at most M texts hold another value of one secret. A run that declared the same secrets was η-GDP for
that in each access. For any other run these are M units that change together: each is replaced, which under
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
"""Most runs that a refusal names."""


@dataclass(frozen=True)
class CumulativeLoss:
    """The events that one subject (an image, a patient) bears, each on as many units as change with it.

    ``by_name`` is True if this run shares no image with the others, so that only a name links them.
    """

    others: tuple[Event, ...]
    own: tuple[Event, ...]
    kind: str
    runs: tuple[Enrolment, ...]
    by_name: bool

    @property
    def events(self) -> tuple[Event, ...]:
        """All of them, to be priced together."""
        return self.others + self.own


@dataclass(frozen=True)
class PriorRuns:
    """All other runs in the ledger, as one run sees them."""

    entries: Entries
    run: Enrolment

    def list_enrolled(self) -> list[Enrolment]:
        """List every other run, oldest first, on any data (``LedgerError`` for rows of a run that never enrolled)."""
        ids = self.entries.run_ids()
        return [self._enrolment(run_id) for run_id in ids if run_id != self.run.run_id]

    def earlier(self) -> PriorReleases:
        """Return secure runs with any provider, on any data, and the cap on all of them.

        Returns:
            The number of such runs, and the events of all of them that one unit of this run may bear; no
            events if public
            facts do not bound how many of their units change with one of this run's.
        """
        # With any provider: two providers may put together what they have learned.
        runs = [run for run in self.list_enrolled() if run.terms.secure and self._pays(run)]
        caps = self.entries.caps()
        cap = LedgerCap(epsilon=float(caps[-1].budget.epsilon), delta=caps[-1].budget.delta) if caps else None
        groups = [_group(self.run, run) for run in runs]
        # One unknown group leaves no sum at all: leaving that run out would print too small a figure.
        if None in groups:
            return PriorReleases(releases=len(runs), events=None, cap=cap)
        events = (
            # A draw makes one unit of the folder change several drawn ones; both factors multiply.
            event.on_group(size * run.terms.group)
            for run, size in zip(runs, groups, strict=True)
            for event in self.entries.events(run.run_id)
            if size is not None
        )
        return PriorReleases(releases=len(runs), events=merge(events), cap=cap)

    def find_affected(self) -> AffectedUnits:
        """Find the subjects that this run concerns, and the counted runs that touch them."""
        enrolled = self.list_enrolled()
        counted = [run for run in enrolled if self.counts(run)]
        # Runs that paid nothing belong here too: they may be the only ones that link two images to one
        # patient.
        units = {run.run_id: self.entries.read_units(run) for run in enrolled}
        promising = [units[run.run_id] for run in counted]
        overlap = Overlap.of(self._units, promising, list(units.values()))
        # Others cannot change any sum that this run adds to (proof in ``overlap``).
        touching = tuple(run for run in counted if overlap.touches(units[run.run_id].partition))
        return AffectedUnits(self.entries, self.run, overlap, touching)

    def find_events_on_secret(self, mine: Listed) -> tuple[Event, ...] | None:
        """Find the events of other runs on one secret of the run's owner.

        These are runs that touch the same data, whatever secrets they declared, and runs on any data that
        declared the same secrets. Whether runs on other data with other secrets concern this one is unknown.

        Returns:
            None if one of them drew its noise from a seed: nothing bounds their sum.
        """
        touching = {each.run_id for each in self.find_affected().others}
        found = [
            each
            for each in self.list_enrolled()
            # Runs that declared the same secrets count on any data: the secret may stand in other texts, too.
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
        """True if a run has looked at its private data, and so has made a promise."""
        # A control that only drew at random made no promise, so it limits nothing.
        return not all(event.free for event in self.entries.events(run.run_id))

    def counts(self, run: Enrolment) -> bool:
        """True if a run counts; an INSECURE one does not if it is forgotten, or if this run promises nothing."""
        # An INSECURE run has no promise to keep, so nothing is counted against it.
        left_out = self.run.terms.forgets_insecure or not self.run.terms.secure
        return self._pays(run) and (run.terms.secure or not left_out)


@dataclass(frozen=True)
class AffectedUnits:
    """The subjects that a run concerns, the events on them, and the other runs that touch them; see ``overlap``."""

    entries: Entries
    run: Enrolment
    overlap: Overlap
    others: tuple[Enrolment, ...]

    @property
    def insecure(self) -> bool:
        """True if no ε bounds the sum: one of the other runs drew noise from a seed."""
        return any(not each.terms.secure for each in self.others)

    @property
    def named_insecure(self) -> str:
        """Name the INSECURE ones among the other runs, for their owner."""
        return name_runs(each for each in self.others if not each.terms.secure)

    def losses(self, events: tuple[Event, ...]) -> list[CumulativeLoss]:
        """Return the events that subjects bear, without subjects that are dominated by another.

        Args:
            events: The run's own events on its units, past or planned.

        Raises:
            LedgerError: One of the runs was under another relation, or a bound on images must be declared.
        """
        own = self.entries.read_units(self.run).partition.images
        # Once for each run: the comparison goes over all images.
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
        """Return the sizes of the groups that change with each subject, in the other runs and this one."""
        # Refused, not converted: a factor of 2 would hold in one direction, but nothing bounds the other.
        for run in self.others:
            if run.relation != self.run.relation:
                raise LedgerError(
                    "earlier runs on these data used another neighbour relation: use the same, "
                    f"--set privacy.relation={run.relation}, as {name_runs([run])} did"
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
    """Name runs as their owner knows them, oldest first: folder, id and day. For the owner's screen only."""
    known = sorted(runs, key=lambda each: (each.began, each.run_id))
    listed = [
        f"{each.origin.folder or 'a run'} ({each.run_id[:8]}, {datetime.fromtimestamp(each.began, UTC).date()})"
        for each in known[:NAMED]
    ]
    more = len(known) - len(listed)
    return ", ".join(listed) + (f" and {more} more, which pcevolve budget show lists" if more else "")


def _group(mine: Enrolment, other: Enrolment) -> int | None:
    """Return how many units of another run one unit of this run can change, by public facts; None if unknown."""
    if mine.relation != other.relation:
        return None
    # By the word for the unit: only then does one unit here change one unit there.
    if mine.unit.casefold() == other.unit.casefold():
        return 1
    # Without a declared number, one patient could have any number of the other run's units.
    most = 1 if mine.unit in SINGLE else mine.terms.unit_size
    return None if most is None else bound_group(most, other.unit not in SINGLE, mine.relation)


def _on_secret(event: Event, run: Enrolment, mine: Listed) -> Event:
    """Return a run's event as one secret bears it."""
    theirs = run.terms.secrets
    # That run promised something to this very secret; its events on whole units would overstate it.
    if theirs is not None and mine.is_declared_in(run):
        return theirs.as_event(event.count)
    # Replacing a unit is one change under replace-one, and a removal and an addition under add-remove.
    changes = 1 if run.relation == "replace-one" else 2
    return event.on_group(changes * mine.most * run.terms.group)
