"""Losses of a listed secret, to which one run promises something, through other runs.

Neighbours are datasets in which at most M texts hold another value of one secret. A run whose owner declared the same
secrets was η-GDP for that, each time it looked. To any other run these are M units that change together: each of them
replaced, which under ``add-remove`` is one unit less and one more.
"""

from __future__ import annotations

from fractions import Fraction

from pcevolve.ledger.entries import Enrolment, Listed
from pcevolve.ledger.others import OtherRuns
from pcevolve.privacy import FREE, Event


def borne(others: OtherRuns, mine: Listed) -> tuple[Event, ...] | None:
    """Events of other runs on one secret of the run's owner.

    Those are runs that touch the same data, whatever was declared secret in them, and runs on any data for which the
    same was declared. Of runs on other data with other secrets nobody knows whether they concern this one.

    Returns:
        None where one of them drew its noise from a seed: nothing bounds what they say together.
    """
    touching = {each.run_id for each in others.concerned().others}
    found = [
        each
        for each in others.enrolled()
        if others.counts(each) and (each.run_id in touching or is_same(each.terms.secrets, mine))
    ]
    if not all(each.terms.secure for each in found):
        return None
    events = ((each, event) for each in found for event in others.entries.events(each.run_id))
    return tuple(on_secret(event, each, mine) for each, event in events if not event.free)


def is_same(theirs: Listed | None, mine: Listed) -> bool:
    """True if the same was declared secret."""
    return theirs is not None and theirs.fingerprint == mine.fingerprint


def on_secret(event: Event, run: Enrolment, mine: Listed) -> Event:
    """Return an event of a run as one secret bears it."""
    theirs = run.terms.secrets
    if theirs is not None and is_same(theirs, mine):
        return told(theirs, event.count)
    changes = 1 if run.relation == "replace-one" else 2
    return event.on_group(changes * mine.most)


def told(listed: Listed, count: int = 1) -> Event:
    """Return a release under a promise as one secret bears it; nothing where nothing may be learned."""
    if listed.budget == 0:
        return FREE
    return Event("gaussian", str(1 / Fraction(listed.budget)), count)
