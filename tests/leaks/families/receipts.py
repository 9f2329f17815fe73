"""Images without a receipt, with one that does not let them leave, or with one of a judge in league with the loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from leaks import secrets
from leaks.attempts import Act, Attempt, attempts
from leaks.families.contents import NO_RECEIPT, UNSENT
from leaks.world import ECHOES, VARIES, World, make_unchecked_prototype
from pcevolve.keeper.ledger.ledger import Limits, Paid
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Query, Receipt
from support.accounts import images
from support.runs import vary

UNKNOWN = "the ledger knows no receipt"
ELSEWHERE = "the receipt is for another run, iteration or class"
OTHER = "the receipt names another candidate"
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
    limits = Limits(Budget(Fraction(10), 0.0))
    other = world.run.ledger.account(
        "f" * 32, images(b"somebody else"), world.run.plan.privacy.relation, limits
    ).enrol()
    choices = world.receipt.choices
    return other.pay(Query("f" * 32, world.call.iteration), (Event("uniform"),), lambda: Paid(choices))


def _of_other_ledger(world: World) -> Receipt:
    """A receipt for the question that is due, paid for in another ledger."""
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
    return _send(world, world.made[world.receipt.of(world.other_label)[0].id], world.receipt)


def _ahead_of_time(world: World) -> object:
    """A judge in league pays for a later round before its turn."""
    later = world.pay(3, (world.call.label, (named(world.candidate),)))
    return _send(world, world.candidate, later)


def _replayed(world: World) -> object:
    old = world.run.account.receipts()[0]
    return _send(world, world.made[old.of(world.call.label)[world.call.parent or 0].id], old)


def _swapped_digests(world: World) -> Candidate:
    return dataclasses.replace(world.candidate, digest=_unchosen(world).digest)


def _constructed(find: Callable[[World], Candidate]) -> Act:
    """A prototype of another candidate, of which the constructor is asked."""
    return lambda world: Prototype(find(world), world.receipt)


def _smuggled(find: Callable[[World], Candidate]) -> Act:
    """A prototype of another candidate, made without asking the constructor."""
    return lambda world: world.ask(source=make_unchecked_prototype(find(world), world.receipt))


def _described(**changes: object) -> Callable[[World], Candidate]:
    """The candidate that is due, under another description."""
    return lambda world: dataclasses.replace(world.candidate, **changes)


def _prototype_as_echo(world: World) -> object:
    """Where the plan names an image, another one that a receipt does allow."""
    chosen = world.pay(4, (world.call.label, (named(world.candidate),)))
    return _send(world, world.candidate, chosen)


def _other_echo(world: World) -> object:
    other = next(each for each in world.of_class(world.call.label) if each.id != world.call.source)
    return world.ask(source=PublicEcho(other))


def _echo_of(**changes: object) -> Act:
    """The candidate that the plan names, under another description."""
    return lambda world: world.ask(source=PublicEcho(_described(**changes)(world)))


def _without(world: World) -> object:
    return vary(world.run.gate, world.call, None)


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
    "the right one, for an image that it does not name": (_constructed(_unchosen), NO_RECEIPT),
    "the right one, past the constructor": (_smuggled(_unchosen), OTHER),
    "swapped digests": (_constructed(_swapped_digests), NO_RECEIPT),
    "swapped digests, past the constructor": (_smuggled(_swapped_digests), UNSENT),
    "a private id": (_constructed(_described(id=secrets.UNIT)), NO_RECEIPT),
    "a private label": (_constructed(_described(label=secrets.PERSON)), NO_RECEIPT),
    "an earlier birth": (_constructed(_described(iteration=7)), NO_RECEIPT),
    "a private id, past the constructor": (_smuggled(_described(id=secrets.UNIT)), OTHER),
    "a private label, past the constructor": (_smuggled(_described(label=secrets.PERSON)), ELSEWHERE),
    "a private parent": (_smuggled(_described(parent=secrets.UNIT)), UNSENT),
    "an earlier birth, past the constructor": (_smuggled(_described(iteration=-1)), UNSENT),
}
ECHOED = {
    "none": (_without, ECHO),
    "none, as if it were text-to-image": (_created, ECHO),
    "a receipt where none is due": (_prototype_as_echo, ECHO),
    "another image than the plan names": (_other_echo, ECHO),
    "a private digest": (_echo_of(digest=secrets.UNIT), UNSENT),
    "a private id": (_echo_of(id=secrets.UNIT), ECHO),
    "a private label": (_echo_of(label=secrets.PERSON), UNSENT),
    "a private parent": (_echo_of(parent=secrets.UNIT), UNSENT),
}

LABEL = "cut"
UNFIT = "has no receipt for its class and iteration|names an image that is not what the API sent"
Forge = Callable[[World, Candidate], Candidate]
Choices = Callable[[World, Candidate], tuple[tuple[str, tuple[Chosen, ...]], ...]]


def _stored(world: World, honest: Candidate, name: str) -> Candidate:
    """The private image, kept where received ones are."""
    digest = world.run.transcript.bodies.keep(secrets.list_encodings(secrets.pixels()))
    return dataclasses.replace(honest, id=name, digest=digest)


def _looked_at(world: World) -> Candidate:
    return next(each for each in world.made.values() if each.id.startswith("l"))


FORGED: dict[str, Forge] = {
    "the private image under a received one's name": lambda w, honest: _stored(w, honest, honest.id),
    "the private image under a private name": lambda w, honest: _stored(w, honest, secrets.UNIT),
    "the private image as one candidate more": lambda w, honest: _stored(w, honest, "i000-c000-000099"),
    "a received image under a private name": lambda w, honest: dataclasses.replace(honest, id=secrets.UNIT),
    "a received image with a private parent": lambda w, honest: dataclasses.replace(
        honest, parent=secrets.UNIT
    ),
    "a received image with an earlier birth": lambda w, honest: dataclasses.replace(honest, iteration=-1),
    "another class's image": lambda w, honest: dataclasses.replace(w.of_class("good")[0], label=LABEL),
    "a lookahead's image, renamed": lambda w, honest: dataclasses.replace(_looked_at(w), id=honest.id),
}
SHAPES: dict[str, Choices] = {
    "nothing chosen": lambda w, honest: (),
    "an empty choice": lambda w, honest: ((LABEL, ()),),
    "another class's choice": lambda w, honest: (("good", (named(honest),) * 2),),
    "a private digest": lambda w, honest: (
        (LABEL, (Chosen(honest.id, _stored(w, honest, "x").digest),) * 2),
    ),
    "a private name": lambda w, honest: ((LABEL, (Chosen(secrets.PERSON, honest.digest),) * 2),),
}


def _paid_for(forge: Forge) -> Act:
    """The judge chooses a forged candidate, and the loop sends it."""

    def act(world: World) -> object:
        call = next(iter(world.run.plan.round(1)))
        fake = forge(world, world.of_class(LABEL)[0])
        receipt = world.pay(1, (LABEL, (named(fake),) * 2))
        return world.ask(call=call, source=Prototype(fake, receipt))

    return act


def _shaped(choices: Choices) -> Act:
    """A committed receipt of another shape, for an image that the provider did make."""

    def act(world: World) -> object:
        honest = world.of_class(LABEL)[0]
        receipt = world.pay(1, *choices(world, honest))
        call = next(iter(world.run.plan.round(1)))
        return world.ask(call=call, source=make_unchecked_prototype(honest, receipt))

    return act


def _uncommitted(world: World) -> object:
    """A draw that the ledger could not record: its outcome is known to the judge and to nobody else."""
    honest = world.of_class(LABEL)[0]
    drawn: list[tuple[Choice, ...]] = []

    def draw() -> None:
        drawn.append((Choice(LABEL, (named(honest),) * 2),))
        raise OSError("the disk is full")

    with suppress(OSError):
        world.run.account.pay(Query(world.run.plan.run_id, 1), (), draw)
    receipt = Receipt(world.run.plan.run_id, 1, drawn[0], (), world.run.plan.privacy.relation)
    call = next(iter(world.run.plan.round(1)))
    return world.ask(call=call, source=Prototype(honest, receipt))


def _recorded(**changes: object) -> Act:
    """A receipt that nobody paid for, put on record without any request."""

    def act(world: World) -> object:
        honest = world.pay(1, (LABEL, (named(world.of_class(LABEL)[0]),)))
        return world.run.gate.record_receipt(dataclasses.replace(honest, **changes))

    return act


RECORDED = {
    "with private numbers": {"values": (52.52, 13.405)},
    "of another round": {"iteration": 417},
    "of another run": {"run_id": secrets.UNIT},
    "with a private choice": {"choices": (Choice(secrets.PERSON, (Chosen(secrets.UNIT, "0" * 64),)),)},
}

ATTEMPTS: list[Attempt] = [
    *attempts("receipt", VARIES, VARY),
    *attempts("reason to leave", ECHOES, ECHOED),
    *attempts(
        "receipt", ("vary-2", "vary-2-other-class"), {"an earlier round's, replayed": _replayed}, ELSEWHERE
    ),
    *attempts(
        "judges",
        "choose-1",
        {name: _paid_for(forge) for name, forge in FORGED.items()},
        "is not what the API sent|of another class",
    ),
    *attempts(
        "judges",
        "choose-1",
        {f"a receipt with {name}": _shaped(choices) for name, choices in SHAPES.items()},
        UNFIT,
    ),
    *attempts(
        "judges",
        "choose-1",
        {
            "a draw that was not committed": _uncommitted,
            **{f"on record: a receipt {name}": _recorded(**changes) for name, changes in RECORDED.items()},
        },
        UNKNOWN,
    ),
]
