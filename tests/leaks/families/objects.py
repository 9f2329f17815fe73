"""Values that lie about themselves, or are changed behind the gate's back: what a hostile method could hand over."""

from __future__ import annotations

import dataclasses
import hashlib
from types import SimpleNamespace
from typing import Any

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each, behind_its_back
from leaks.families.receipts import _unchosen, named
from leaks.world import VARIES, World, unchecked_prototype
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Prototype, Receipt

ANY = (
    "is not in the public plan|is not what the API sent|knows no receipt|names another|plain values|no public plan"
    "|on record with another plan"
)


def _liar(plain: type) -> type:
    """The type again, whose values are equal to everything."""
    methods = {
        "__eq__": lambda self, other: True,
        "__ne__": lambda self, other: False,
        "__hash__": plain.__hash__,
    }
    return type(f"Agreeable{plain.__name__}", (plain,), methods)


def _lying(value: Any, **changes: object) -> Any:
    """A changed copy that claims to be the original."""
    values = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    made = object.__new__(_liar(type(value)))
    for name, each in {**values, **changes}.items():
        object.__setattr__(made, name, each)
    return made


def _stored(world: World) -> str:
    """Digest of the private image, which lies where received ones are kept."""
    return world.run.transcript.bodies.keep(secrets.encoded(secrets.pixels()))


def _call(world: World) -> object:
    return world.ask(call=_lying(world.call, seed=417))


def _seed(world: World) -> object:
    return world.ask(call=dataclasses.replace(world.call, seed=_liar(int)(417)))


def _slot(world: World) -> object:
    return world.ask(call=dataclasses.replace(world.call, slot=_liar(str)("i000/c000/" + secrets.UNIT)))


def _like_a_call(world: World) -> object:
    return world.ask(call=SimpleNamespace(**vars(world.call)))


def _no_call(world: World) -> object:
    return world.ask(call=world.call.slot)


def _candidate(world: World) -> object:
    return world.send(_lying(world.candidate, digest=_stored(world)))


def _digest(world: World) -> object:
    return world.send(dataclasses.replace(world.candidate, digest=_liar(str)(_stored(world))))


def _source(world: World) -> object:
    """A reason to leave that agrees with the one that is due."""
    fake = dataclasses.replace(world.candidate, digest=_stored(world))
    return world.ask(source=_lying(world.source, candidate=fake))


def _receipt(world: World) -> object:
    """An image that no release chose, under a receipt that agrees with all others."""
    other = _unchosen(world)
    choices = (Choice(other.label, (named(other), named(other))),)
    return world.ask(source=Prototype(other, _lying(world.source.receipt, choices=choices)))


def _choices(world: World) -> object:
    """The same, deeper down."""
    other = _unchosen(world)
    choices = _liar(tuple)((Choice(other.label, (named(other), named(other))),))
    receipt = dataclasses.replace(world.source.receipt, choices=choices)
    return world.ask(source=Prototype(other, receipt))


def _changed_candidate(world: World) -> object:
    """The very object that the gate returned, changed afterwards."""
    world.spoilt = True
    object.__setattr__(world.candidate, "digest", _stored(world))
    return world.ask()


def _changed_receipt(world: World) -> object:
    """The very receipt that the ledger returned, changed afterwards."""
    other = _unchosen(world)
    world.spoilt = True
    receipt = world.source.receipt
    object.__setattr__(receipt, "choices", (Choice(other.label, (named(other), named(other))),))
    return world.ask(source=unchecked_prototype(other, receipt))


def _emptied_receipt(world: World) -> object:
    """The same, after the gate has seen it with an earlier request of the round."""
    object.__setattr__(world.source.receipt, "choices", ())
    return None


def _changed_call(world: World) -> object:
    """The very call that is in the plan."""
    world.spoilt = True
    object.__setattr__(world.call, "seed", 417)
    return world.ask()


def _changed_calls(world: World) -> object:
    """The plan's table of calls."""
    call = dataclasses.replace(world.call, seed=417)
    world.spoilt = True
    world.run.plan.calls[call.slot] = call
    return world.ask(call=call)


def _duck(world: World) -> object:
    return world.ask(source=SimpleNamespace(candidate=world.candidate, receipt=None))


def _bare(world: World) -> object:
    return world.ask(source=world.candidate)


def _bytes(world: World) -> object:
    """The image itself in the place of its name."""
    return world.ask(source=secrets.encoded(secrets.pixels()))


def _bytes_in_a_candidate(world: World) -> object:
    return world.send(dataclasses.replace(world.candidate, digest=secrets.encoded(secrets.pixels())))


def _own_receipt(world: World) -> object:
    """A receipt that nobody has drawn, for the image that a release did choose."""
    plain = world.source.receipt
    receipt = Receipt(plain.run_id, plain.iteration, plain.choices, (), plain.relation)
    return world.ask(source=Prototype(world.candidate, receipt))


def _digest_of_words(world: World) -> object:
    words = hashlib.sha256(secrets.PERSON.encode()).hexdigest()
    return world.send(dataclasses.replace(world.candidate, digest=words))


def _begun(plan: object) -> Act:
    return lambda world: world.run.gate.begin(plan, world.run.account.committed, world.run.account.measured)


def _plan(world: World) -> object:
    """A plan that is equal to the one on record, and says something else."""
    changed = world.run.plan.model_copy(update={"domain": secrets.PERSON})
    made = _liar(PublicPlan).model_construct(**dict(changed))
    return _begun(made)(world)


def _domain(world: World) -> object:
    """A plan with a word in it that is equal to the one on record, and says something else."""
    return _begun(world.run.plan.model_copy(update={"domain": _liar(str)(secrets.PERSON)}))(world)


def _unreadable(world: World) -> object:
    return _begun(world.run.plan.model_copy(update={"shots": secrets.PERSON}))(world)


EVERYWHERE = {
    "a call that agrees with everything": _call,
    "a seed that agrees with everything": _seed,
    "a slot that agrees with everything": _slot,
    "a call changed in place": _changed_call,
    "a call changed in the plan's table": _changed_calls,
    "something like a call": _like_a_call,
    "a call's name": _no_call,
    "a plan that agrees with everything": _plan,
    "a domain that agrees with everything": _domain,
    "a plan that nobody can read": _unreadable,
    "something like a plan": _begun(SimpleNamespace()),
    "an image in the place of its name": _bytes,
}
WITH_IMAGE = {
    "a candidate that agrees with everything": _candidate,
    "a digest that agrees with everything": _digest,
    "a reason that agrees with everything": _source,
    "a candidate changed in place": _changed_candidate,
    "an image in the place of its digest": _bytes_in_a_candidate,
    "something like a reason": _duck,
    "a candidate as its own reason": _bare,
    "a digest of private words": _digest_of_words,
}
WITH_RECEIPT = {
    "a receipt that agrees with everything": _receipt,
    "choices that agree with everything": _choices,
    "a receipt changed in place": _changed_receipt,
    "a receipt of one's own": _own_receipt,
}

EMPTIED = "a receipt that was seen before, emptied in place"
ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for moments, cases in (
            (("create-1", "vary-1", "look-0"), EVERYWHERE),
            (("vary-1", "vary-2", "look-0", "extend"), WITH_IMAGE),
            (VARIES, WITH_RECEIPT),
        )
        for name, act in cases.items()
        for attempt in at_each(moments, "objects", name, act, ANY)
    ),
    *behind_its_back("objects", EMPTIED, ("vary-1-second",), _emptied_receipt),
]
