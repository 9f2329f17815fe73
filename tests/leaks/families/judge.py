"""A judge in league with the loop: releases that the ledger holds, but that say what the plan does not allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress

from leaks import secrets
from leaks.attempts import Act, Attempt
from leaks.families.receipts import named
from leaks.world import World, unchecked_prototype
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, Query, Receipt

LABEL, OTHER = "cut", "good"
UNFIT = "has no receipt for its class and iteration|names an image that is not what the API sent"
Forge = Callable[[World, Candidate], Candidate]
Choices = Callable[[World, Candidate], tuple[tuple[str, tuple[Chosen, ...]], ...]]


def _stored(world: World, honest: Candidate, name: str) -> Candidate:
    """The private image, kept where received ones are."""
    digest = world.run.transcript.bodies.keep(secrets.encoded(secrets.pixels()))
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
    "a received image of a private kind": lambda w, honest: dataclasses.replace(
        honest, media_type=secrets.EXIF
    ),
    "a received image with an earlier birth": lambda w, honest: dataclasses.replace(honest, iteration=-1),
    "another class's image": lambda w, honest: dataclasses.replace(w.of_class(OTHER)[0], label=LABEL),
    "a lookahead's image, renamed": lambda w, honest: dataclasses.replace(_looked_at(w), id=honest.id),
}
SHAPES: dict[str, Choices] = {
    "nothing chosen": lambda w, honest: (),
    "an empty choice": lambda w, honest: ((LABEL, ()),),
    "another class's choice": lambda w, honest: ((OTHER, (named(honest),) * 2),),
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
        return world.ask(call=call, source=unchecked_prototype(honest, receipt))

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
    receipt = Receipt(world.run.plan.run_id, 1, drawn[0], (), world.run.plan.relation)
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
    *(
        Attempt("judges", name, "choose-1", _paid_for(forge), "is not what the API sent|of another class")
        for name, forge in FORGED.items()
    ),
    *(
        Attempt("judges", f"a receipt with {name}", "choose-1", _shaped(choices), UNFIT)
        for name, choices in SHAPES.items()
    ),
    Attempt("judges", "a draw that was not committed", "choose-1", _uncommitted, "knows no receipt"),
    *(
        Attempt(
            "judges", f"on record: a receipt {name}", "choose-1", _recorded(**changes), "knows no receipt"
        )
        for name, changes in RECORDED.items()
    ),
]
