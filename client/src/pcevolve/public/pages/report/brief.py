"""The report's first screen: facts for decision makers, all computed from the record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pcevolve.public.pages.reasons import TrafficTable
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import ALARMS, count_found_members, find_folder_events
from pcevolve.public.publish.promises import state_confinement
from pcevolve.public.transcript.traffic import Attempt


@dataclass(frozen=True)
class Odds:
    """An attacker's chances, in words.

    Attributes:
        together: The figure for a unit that is in all releases known to the ledger; empty if there were no earlier
            releases, or their loss cannot be summed.
    """

    short: str
    words: str = ""
    together: str = ""


@dataclass(frozen=True)
class Brief:
    """Sentences for the first screen."""

    left: str
    stayed: str
    odds: Odds
    assumptions: tuple[str, ...]
    when: str

    @classmethod
    def of(
        cls, plan: PublicPlan, events: Iterable[Event], traffic: TrafficTable, attempts: Iterable[Attempt]
    ) -> Brief:
        """Write the sentences for a finished run."""
        paid = [event for event in events if not event.free]
        return cls(
            left=_say_sent(plan, traffic),
            stayed=_say_kept(plan, bool(paid), traffic),
            odds=_odds(plan, paid),
            assumptions=_assumptions(plan),
            when=_when(attempts),
        )


def _say_sent(plan: PublicPlan, traffic: TrafficTable) -> str:
    total, one, many = traffic.total, plan.modality.nouns.one, plan.modality.nouns.many
    called = "words in place of the class names" if plan.data.words else "the class names"
    words = (
        f"{total.attempts:,} requests with {total.bytes_sent:,} bytes in total. They contained "
        f"{called} and the domain words"
    )
    if not total.images:
        chosen = f" The prompts of the selected {many} were sent again." if plan.varies_prompts else ""
        return f"{words}. No {one} was sent.{chosen}"
    if plan.start is not None:
        return f"{words}, and {total.distinct:,} different {many} of the release that the run starts from."
    whose = "had sent before" if plan.library else "had made itself"
    return f"{words}, and {total.distinct:,} different {many} that the provider {whose}."


def _say_kept(plan: PublicPlan, looked: bool, traffic: TrafficTable) -> str:
    """State what was not sent, in words that hold for this run."""
    nouns = plan.modality.nouns
    if traffic.unexplained:
        return f"Not confirmed: some {nouns.many} that were sent have no receipt that allows it."
    if plan.start is not None:
        return f"Everything private. After the release that the run starts from, no private {nouns.one} was looked at."
    if not looked:
        return f"Everything private. No private {nouns.one} was looked at."
    if plan.varies_prompts:
        seen = f"which prompts had made the selected {nouns.many}"
    else:
        seen = f"which of its {nouns.many} were selected" if traffic.total.images else "nothing"
    noisy = (
        "noisy releases whose privacy loss is stated below"
        if plan.secure
        else "releases described below, whose noise protects nobody"
    )
    return (
        f"No private {nouns.one}, file name or embedding was sent, and nothing else computed from them, with one "
        f"exception: the {noisy}. From these releases, the provider learns {seen}. The released numbers are "
        "in the dataset and in the record."
    )


def _odds(plan: PublicPlan, paid: list[Event]) -> Odds:
    if not plan.secure:
        return Odds(
            "No bound.", "The noise came from a seed. Anyone who knows the seed can be right every time."
        )
    if not paid:
        return Odds(f"Nothing. No private {plan.modality.nouns.one} was looked at.")
    paid = list(find_folder_events(plan, paid))
    used = "used" if plan.data.subsample is None else "in the folder that was drawn from"
    many = plan.modality.nouns.many
    unit = f"one given {plan.unit}" + ("" if plan.unit == plan.modality.kind else f"'s {many}")
    verb = "was" if plan.unit == plan.modality.kind else "were"
    other = " or another one in its place" if plan.privacy.relation == "replace-one" else ""
    words = (
        f"In the worst case, an attacker knows all other {many} and tries to tell whether {unit} {verb} {used}{other}. "
        f"At a {ALARMS} % false-positive rate, membership inference detects at most {count_found_members(paid)} %."
    )
    short = (
        f"An attacker who wrongly accuses {ALARMS} % of those not used detects at most {count_found_members(paid)} % "
        f"of those used; guessing would detect {ALARMS} %."
    )
    return Odds(short, words, _together(plan, paid))


def _together(plan: PublicPlan, paid: list[Event]) -> str:
    """State the attacker's chance for a unit that is in this run and in all earlier releases of the ledger."""
    if not plan.earlier.releases or plan.earlier.events is None:
        return ""
    found = count_found_members([*plan.earlier.events, *paid])
    return f"For this {plan.unit}, an attacker detects at most {found} %."


def _assumptions(plan: PublicPlan) -> tuple[str, ...]:
    """Return the three most important assumptions. The report lists all of them further down."""
    counted = (
        f"The guarantee protects one {plan.unit}. A person who is in several {plan.modality.nouns.many} is protected "
        "less."
        if plan.unit == plan.modality.kind
        else f"The owner's list states correctly which {plan.modality.nouns.many} belong to one {plan.unit}."
    )
    confined = state_confinement(plan)
    return (
        f"{'Words in place of class' if plan.data.words else 'Class'} names and domain words are not secret.",
        counted,
        "Only the owner controls the client's machine and its ledger."
        + (f" Confinement, as stated by the client: {confined}." if confined else ""),
    )


def _when(attempts: Iterable[Attempt]) -> str:
    """Return the first and last date in the answers, UTC."""
    found = sorted(day for each in attempts if each.answer is not None for day in _days(each.answer.headers))
    if not found:
        return "The answers have no date."
    first, last = found[0].date().isoformat(), found[-1].date().isoformat()
    span = first if first == last else f"{first} to {last}"
    return f"{span} (UTC), by the provider's clock."


def _days(headers: Iterable[tuple[str, str]]) -> list[datetime]:
    """Return the valid dates in an answer's ``Date`` headers."""
    found = []
    for name, value in headers:
        if name.lower() == "date":
            try:
                day = parsedate_to_datetime(value)
                # "-0000" is UTC. With local time, two machines would make different pages from the same record.
                found.append(day.astimezone(UTC) if day.tzinfo else day.replace(tzinfo=UTC))
            except (ValueError, TypeError, OverflowError):
                continue
    return found
