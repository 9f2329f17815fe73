"""Received images without a receipt, or with one that does not allow them to leave."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import ECHOES, VARIES, World, unchecked_prototype
from pcevolve.ledger.ledger import Limits, Paid
from pcevolve.privacy import Budget, Event
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Query, Receipt
from support.accounts import images

NO_RECEIPT = "no receipt for its class and iteration"
UNKNOWN = "the ledger knows no receipt"
ELSEWHERE = "the receipt is for another run, iteration or class"
OTHER = "the receipt names another candidate"
UNSENT = "is not what the API sent|names another candidate"
PROTOTYPE = "must carry a released prototype"
ECHO = "must carry the candidate that the plan names"


def named(candidate: Candidate) -> Chosen:
    return Chosen(candidate.id, candidate.digest)


def _send(world: World, candidate: Candidate, receipt: Receipt) -> object:
    return world.ask(source=Prototype(candidate, receipt))


def _unchosen(world: World) -> Candidate:
    """An image of the same class that the receipt does not name."""
    taken = {each.id for each in world.receipt.of(world.call.label)}
    stage = world.candidate.id.split("-")[0]
    return next(
        each
        for each in world.of_class(world.call.label)
        if each.id.startswith(stage) and each.id not in taken
    )


def _naming(world: World, candidate: Candidate) -> Receipt:
    """A receipt that nobody paid for."""
    choice = Choice(candidate.label, (named(candidate), named(candidate)))
    return dataclasses.replace(world.receipt, choices=(choice,))


def _of_other_run(world: World) -> Receipt:
    """A receipt that another run in the same ledger has paid for."""
    limits = Limits(Budget(Fraction(10), 0.0), Budget(Fraction(10), 0.0))
    other = world.run.ledger.account(
        "f" * 32, images(b"somebody else"), world.run.plan.relation, limits
    ).enrol()
    choices = world.receipt.choices
    return other.pay(Query("f" * 32, world.call.iteration), (Event("uniform"),), lambda: Paid(choices))


def _of_other_ledger(world: World) -> Receipt:
    """The same question, paid for in another ledger."""
    with TemporaryDirectory() as folder:
        other = World.at("choose-1", Path(folder))
        choices = [(each.label, (named(_unchosen(world)),) * 2) for each in world.receipt.choices]
        receipt = other.pay(world.call.iteration, *choices)
        other.run.close()
    return receipt


def _changed(**changes: object) -> Act:
    """The committed receipt with something else in it."""
    return lambda world: _send(world, world.candidate, dataclasses.replace(world.source.receipt, **changes))


def _echoed(world: World) -> object:
    return world.ask(source=PublicEcho(world.candidate))


def _forged_choice(world: World) -> object:
    other = _unchosen(world)
    return _send(world, other, _naming(world, other))


def _reordered(world: World) -> object:
    place = 1 - (world.call.parent or 0)
    return _send(world, world.made[world.receipt.of(world.call.label)[place].id], world.receipt)


def _of_other_class(world: World) -> object:
    label = next(each for each in world.run.plan.labels if each != world.call.label)
    return _send(world, world.made[world.receipt.of(label)[0].id], world.receipt)


def _ahead_of_time(world: World) -> object:
    """A judge in league pays for a later round before its turn."""
    later = world.pay(3, (world.call.label, (named(world.candidate),)))
    return _send(world, world.candidate, later)


def _replayed(world: World) -> object:
    old = world.run.account.receipts()[0]
    return _send(world, world.made[old.of(world.call.label)[world.call.parent or 0].id], old)


def _swapped_digests(world: World) -> Candidate:
    return dataclasses.replace(world.candidate, digest=_unchosen(world).digest)


def _tampered(**changes: object) -> Act:
    """The chosen candidate under another description."""
    return lambda world: Prototype(dataclasses.replace(world.candidate, **changes), world.receipt)


def _smuggled(**changes: object) -> Act:
    """The same, past the constructor."""
    return lambda world: world.ask(
        source=unchecked_prototype(dataclasses.replace(world.candidate, **changes), world.receipt)
    )


def _prototype_as_echo(world: World) -> object:
    """Where the plan names an image, another one that a receipt does allow."""
    chosen = world.pay(4, (world.call.label, (named(world.candidate),)))
    return _send(world, world.candidate, chosen)


def _other_echo(world: World) -> object:
    other = next(each for each in world.of_class(world.call.label) if each.id != world.call.source)
    return world.ask(source=PublicEcho(other))


def _described_echo(**changes: object) -> Act:
    """The candidate that the plan names, under another description."""
    return lambda world: world.ask(source=PublicEcho(dataclasses.replace(world.candidate, **changes)))


def _without(world: World) -> object:
    return world.run.gate.vary(world.call, None)


def _created(world: World) -> object:
    return world.run.gate.create(world.call)


VARY = {
    "none": (_without, PROTOTYPE),
    "none, as if it were text-to-image": (_created, PROTOTYPE),
    "an echo's, which is none": (_echoed, PROTOTYPE),
    "forged events": (_changed(events=(Event("exponential", "1"),)), UNKNOWN),
    "free events": (_changed(events=()), UNKNOWN),
    "forged values": (_changed(values=(52.52, 13.405)), UNKNOWN),
    "forged relation": (_changed(relation="add-remove"), UNKNOWN),
    "forged run": (_changed(run_id="e" * 32), UNKNOWN),
    "forged round": (_changed(iteration=9), UNKNOWN),
    "forged choice": (_forged_choice, UNKNOWN),
    "another run's": (lambda world: _send(world, world.candidate, _of_other_run(world)), UNKNOWN),
    "another ledger's": (lambda world: _send(world, _unchosen(world), _of_other_ledger(world)), UNKNOWN),
    "another class's": (_of_other_class, ELSEWHERE),
    "a later round's": (_ahead_of_time, ELSEWHERE),
    "its neighbour's, reordered": (_reordered, OTHER),
    "the right one, for an image that it does not name": (
        lambda world: Prototype(_unchosen(world), world.receipt),
        NO_RECEIPT,
    ),
    "the right one, past the constructor": (
        lambda world: world.ask(source=unchecked_prototype(_unchosen(world), world.receipt)),
        OTHER,
    ),
    "swapped digests": (lambda world: Prototype(_swapped_digests(world), world.receipt), NO_RECEIPT),
    "swapped digests, past the constructor": (
        lambda world: world.ask(source=unchecked_prototype(_swapped_digests(world), world.receipt)),
        UNSENT,
    ),
    "a private id": (_tampered(id=secrets.UNIT), NO_RECEIPT),
    "a private label": (_tampered(label=secrets.PERSON), NO_RECEIPT),
    "an earlier birth": (_tampered(iteration=7), NO_RECEIPT),
    "a private id, past the constructor": (_smuggled(id=secrets.UNIT), OTHER),
    "a private label, past the constructor": (_smuggled(label=secrets.PERSON), ELSEWHERE),
    "a private parent": (_smuggled(parent=secrets.UNIT), UNSENT),
    "a private media type": (_smuggled(media_type=secrets.FILE_NAME), UNSENT),
    "an earlier birth, past the constructor": (_smuggled(iteration=-1), UNSENT),
}
ECHOED = {
    "none": (_without, ECHO),
    "none, as if it were text-to-image": (_created, ECHO),
    "a receipt where none is due": (_prototype_as_echo, ECHO),
    "another image than the plan names": (_other_echo, ECHO),
    "a private digest": (_described_echo(digest=secrets.UNIT), UNSENT),
    "a private id": (_described_echo(id=secrets.UNIT), ECHO),
    "a private label": (_described_echo(label=secrets.PERSON), UNSENT),
    "a private parent": (_described_echo(parent=secrets.UNIT), UNSENT),
    "a private media type": (_described_echo(media_type=secrets.EXIF), UNSENT),
}

ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for name, (act, reason) in VARY.items()
        for attempt in at_each(VARIES, "receipt", name, act, reason)
    ),
    *(
        attempt
        for name, (act, reason) in ECHOED.items()
        for attempt in at_each(ECHOES, "reason to leave", name, act, reason)
    ),
    *at_each(
        ("vary-2", "vary-2-other-class"), "receipt", "an earlier round's, replayed", _replayed, ELSEWHERE
    ),
]
