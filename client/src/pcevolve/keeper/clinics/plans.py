"""An owner's check of a coordinator's plan: compare it with the roster, describe it, and read the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from pcevolve.errors import DataError, ProtocolError
from pcevolve.keeper.kind import read_run
from pcevolve.keeper.ledger.ledger import Account
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.offers import OF_ROSTER
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics.roster import Roster
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import spell_as
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.figures import format_loss, in_full, spell_count, spell_size
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import count_found_members
from pcevolve.public.screen import Fact
from pcevolve.public.selectors import find_method

if TYPE_CHECKING:
    from pcevolve.keeper.clinics.owner import OwnOptions


def require_plan(plan: PublicPlan, roster: Roster, place: int) -> None:
    """Refuse a plan whose owners, classes or unit differ from the roster's (``ProtocolError`` names the difference)."""
    owners, kind = plan.clinics, plan.modality.kind
    if owners != roster.clinics:
        raise ProtocolError(
            "the coordinator's roster differs from this owner's: compare the digests that pcevolve clinics roster "
            "prints; nothing was read or spent"
        )
    if (plan.labels, plan.data.words) != (tuple(roster.labels.values()), tuple(roster.words.values())):
        raise ProtocolError(
            "the classes in the coordinator's plan differ from those in the roster: compare the digests "
            "that pcevolve clinics roster prints; nothing was read or spent"
        )
    if plan.unit != (roster.unit or kind):
        raise ProtocolError(
            f"the privacy unit is one {plan.unit} in the plan, but one {roster.unit or kind} in the "
            "roster; nothing was read or spent"
        )
    assert owners is not None
    assert place < len(owners.owners)


def read_data(
    plan: PublicPlan, roster: Roster, place: int, options: OwnOptions, screen: OwnerScreen
) -> tuple[PrivateDataset, list[Fact]]:
    """Read the owner's data under the plan's labels; the notes are for the owner alone.

    Raises:
        DataError: The data are unusable, have other classes or units, or differ in number from the roster.
    """
    columns = zip(("text_column", "label_column"), options.texts, strict=True)
    own = {"unit_map": options.unit_map, "encoder_weights": options.weights, **dict(columns)}
    settings = RunConfig.of(
        {
            "private": options.private,
            "domain": plan.data.domain,
            "shots": roster.owner[place].shots,
            "window": plan.data.window,
            "unit_size": plan.data.unit_size,
            "epsilon": plan.privacy.epsilon,
            "delta": plan.privacy.delta,
            "relation": plan.privacy.relation,
            "method": plan.method.name,
            "encoder": plan.encoder.name,
            "api": plan.provider.api,
            "dialect": plan.provider.dialect,
            "model": plan.provider.model,
            "out": options.folder,
            "ledger": options.ledger,
            **{name: value for name, value in own.items() if value is not None},
        }
    )
    show_work = screen.show_work(f"reading private {plan.modality.nouns.many}")
    with spell_as({"shots": OF_ROSTER}.get), show_work as show_progress:
        read = read_run(settings, show_progress)
    if {*read.data.labels} != {*roster.labels}:
        odd = sorted({*read.data.labels} ^ {*roster.labels})
        raise DataError(
            f"--private {options.private}: its classes differ from the roster's, {odd[0]!r} is in only "
            "one of them: nothing was spent"
        )
    if read.data.unit_name != plan.unit:
        raise DataError(
            f"--private {options.private}: the privacy unit is one {read.data.unit_name} in these data, "
            f"but one {plan.unit} in the roster: add or leave out --unit-map FILE; nothing was spent"
        )
    return read.data.rename(roster.labels), [Fact(title, text) for title, text in read.notes]


def describe_plan(plan: PublicPlan, place: int, account: Account, events: Sequence[Event]) -> Iterator[Fact]:
    """Describe a plan for the owner: its participants, its classes and method, and its cost by this owner's ledger."""
    owners, delta = plan.clinics, plan.privacy.delta
    assert owners is not None
    names = ", ".join(each.name for each in owners.owners)
    yield Fact("owners", f"{names}; you are {owners.owners[place].name}")
    yield Fact("server", f"{plan.provider.model} at {plan.provider.api}")
    stated = {"operator": plan.provider.operator, "retention": plan.provider.retention}
    for title, words in stated.items():
        yield Fact(
            title, f"{words}, as stated by the coordinator" if words else "not stated by the coordinator"
        )
    yield Fact("result", "all owners and the coordinator receive the dataset, the record and the report")
    classes = ", ".join(plan.data.words or plan.labels)
    yield Fact(
        "classes",
        f"{classes}; words {plan.data.domain!r}; {plan.data.shots} {plan.unit}s each, of all owners",
    )
    yield Fact("method", find_method(plan.method.name).summary)
    yield from (Fact(title, text) for title, text in describe_protection(plan, events))
    before, after = account.compute_spent_before(), account.compute_spent_after(events)
    yield Fact(
        "ledger",
        f"{account.entries.store.path}: other runs have spent {_spell(before)} on the most exposed "
        f"{plan.unit}, and after this run the sum will be {_spell(after)} (counted as under privacy), of "
        f"at most {float(account.lifetime.epsilon):g}, at delta {in_full(account.lifetime.delta)}",
    )
    yield Fact("delta", in_full(delta), "")


def describe_protection(plan: PublicPlan, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Yield the privacy loss of one unit, first if the number of colluding owners is as assumed.

    The second value is the loss if all other owners collude.
    """
    owners, delta = plan.clinics, plan.privacy.delta
    assert owners is not None
    alone = [owners.weaken(event) for event in events]
    many = f"{owners.colluding} of the other owners" if owners.colluding else "none of the other owners"
    change = "changed, its label included" if plan.privacy.relation == "replace-one" else "added or removed"
    several = f"at most {owners.holders} owners" if owners.holders > 1 else "one owner alone"
    yield (
        "privacy",
        f"{_spell(epsilon(events, delta))} at delta {in_full(delta)} for one {plan.unit} {change}, "
        f"in the data of {several}, against server, coordinator and {many}; at a 5 % false-positive rate such an "
        f"attacker detects at most {count_found_members(events)} %",
    )
    yield (
        "trust nobody",
        f"{_spell(epsilon(alone, delta))} at delta {in_full(delta)} if all other owners, coordinator and server pool "
        f"what they know: the noise of this owner's share alone; then at most {count_found_members(alone)} %",
    )


def describe_sent(sizes: Sequence[int]) -> Fact:
    """Describe the messages that this owner sent in a run.

    Args:
        sizes: Size of each answer, in bytes.
    """
    answers = f"{spell_count(len(sizes), 'answer')} of {spell_size(sum(sizes))}"
    return Fact(
        "sent",
        f"the facts that you joined and agreed, and {answers}; without the answers of all other owners, "
        "coordinator and provider see only random numbers",
    )


def _spell(loss: float) -> str:
    return f"epsilon {format_loss(loss)}" if isfinite(loss) else "more than any epsilon"
