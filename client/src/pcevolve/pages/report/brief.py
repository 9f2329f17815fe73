"""The first screen: what somebody who decides about the run has to know, as functions of the record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil

from pcevolve.dp.tradeoff import most_true_positives
from pcevolve.pages.report.traffic import TrafficTable
from pcevolve.privacy import Event
from pcevolve.public.plan import PublicPlan
from pcevolve.transcript import Attempt

FALSE_ALARMS = 0.05
"""How often an attacker may take a unit for used that was not."""


@dataclass(frozen=True)
class Brief:
    """Sentences for the first screen.

    Attributes:
        left: What was sent.
        stayed: What was not.
        odds: What an attacker can tell; empty where nothing is promised.
        assumptions: On what that rests.
        when: When the requests were answered, as the provider's answers say.
    """

    left: str
    stayed: str
    odds: str
    assumptions: tuple[str, ...]
    when: str

    @classmethod
    def of(
        cls, plan: PublicPlan, events: Iterable[Event], traffic: TrafficTable, attempts: Iterable[Attempt]
    ) -> Brief:
        """Say it about a finished run."""
        paid = [event for event in events if not event.free]
        return cls(
            left=_left(plan, traffic),
            stayed=_stayed(plan, bool(paid), bool(traffic.unexplained)),
            odds=_odds(plan, paid),
            assumptions=_assumptions(plan),
            when=_when(attempts),
        )


def _left(plan: PublicPlan, traffic: TrafficTable) -> str:
    """What was sent, in words."""
    total = traffic.total
    size = f"{total.attempts:,} requests, {total.bytes_sent:,} bytes"
    words = f"{size}, with the class names and the words for the domain"
    if not total.images:
        return f"{words}. No image was sent."
    whose = "had sent before" if plan.library else "had made itself"
    return f"{words}. {total.distinct:,} different images, which the provider {whose}, went back to it."


def _stayed(plan: PublicPlan, looked: bool, unexplained: bool) -> str:
    """What was not sent, in words that hold for this run."""
    if plan.in_process:
        return "Nobody can tell: the generator ran inside the process that held the private images."
    if unexplained:
        return "This cannot be said: images are on record for whose leaving there is no reason."
    if not looked:
        return "Everything private: no private image was looked at."
    noisy = (
        "the noisy releases that are priced below"
        if plan.secure
        else "the releases below, which protect nobody,"
    )
    return (
        "Private images, file names, embeddings, and whatever else was computed from private images. Of all that only "
        f"{noisy} can be seen, in which of the provider's images were chosen."
    )


def _odds(plan: PublicPlan, paid: list[Event]) -> str:
    """The privacy loss as an attacker's odds."""
    if not (plan.secure and paid):
        return ""
    share = ceil(100 * most_true_positives(paid, FALSE_ALARMS))
    alarms = round(100 * FALSE_ALARMS)
    other = " and not another given one" if plan.relation == "replace-one" else ""
    return (
        f"Suppose that somebody knows everything else and must decide whether one given {plan.unit} was used{other}. "
        f"If they may be wrong in {alarms} of 100 cases where it was not, they are right in at most {share} of 100 "
        f"where it was. Guessing is right in {alarms}."
    )


def _assumptions(plan: PublicPlan) -> tuple[str, ...]:
    """Three sentences; the whole list stands further down."""
    counted = (
        "What is protected is one image: whoever is in several of them is protected less."
        if plan.unit == "image"
        else f"The owner's list says rightly which images belong to one {plan.unit}."
    )
    return (
        "Class names and the words for the domain are no secret.",
        counted,
        "The client's machine and its ledger are in the owner's hands alone.",
    )


def _when(attempts: Iterable[Attempt]) -> str:
    """First and last date in the answers, UTC."""
    found = sorted(day for each in attempts if each.answer is not None for day in _days(each.answer.headers))
    if not found:
        return "The answers name no date."
    first, last = found[0].date().isoformat(), found[-1].date().isoformat()
    span = first if first == last else f"{first} to {last}"
    return f"{span} (UTC), by the provider's clock."


def _days(headers: Iterable[tuple[str, str]]) -> list[datetime]:
    """What the ``Date`` headers of an answer say, as far as they are dates."""
    found = []
    for name, value in headers:
        if name.lower() == "date":
            try:
                found.append(parsedate_to_datetime(value).astimezone(UTC))
            except (ValueError, TypeError, OverflowError):
                continue
    return found
