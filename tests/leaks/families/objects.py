"""Values that lie about themselves, or are changed behind the gate's back: what a hostile method could hand over."""

from __future__ import annotations

import dataclasses
import hashlib
from types import SimpleNamespace
from typing import Any

from leaks import secrets
from leaks.attempts import Attempt, at_each
from leaks.families.images import unchecked_prototype
from leaks.families.receipts import _unchosen, named
from leaks.world import VARIES, World
from pcevolve.public.release import Candidate, Choice, Prototype, PublicEcho, Receipt

ANY = (
    "is not in the public plan|differs from what|is not what the API sent|knows no receipt|names another|must carry"
    "|plain values"
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


def _reason(world: World, candidate: Candidate) -> Prototype | PublicEcho:
    if isinstance(world.source, PublicEcho):
        return PublicEcho(candidate)
    return unchecked_prototype(candidate, world.source.receipt)


def _request(world: World) -> object:
    body = world.request.body.replace(b'"steps":50', b'"steps":51')
    return world.exchange(request=_lying(world.request, body=body))


def _body(world: World) -> object:
    body = _liar(bytes)(world.request.body.replace(b'"steps":50', b'"steps":51'))
    return world.exchange(request=dataclasses.replace(world.request, body=body))


def _path(world: World) -> object:
    return world.exchange(request=dataclasses.replace(world.request, path=_liar(str)("/v1/" + secrets.UNIT)))


def _call(world: World) -> object:
    call = _lying(world.call, seed=417)
    return world.exchange(request=world.spelled(call, world.image()), call=call)


def _seed(world: World) -> object:
    call = dataclasses.replace(world.call, seed=_liar(int)(417))
    return world.exchange(request=world.spelled(call, world.image()), call=call)


def _candidate(world: World) -> object:
    fake = _lying(world.candidate, digest=_stored(world))
    return world.send_image(world.bytes_of(fake), _reason(world, fake))


def _digest(world: World) -> object:
    fake = dataclasses.replace(world.candidate, digest=_liar(str)(_stored(world)))
    return world.send_image(world.bytes_of(fake), _reason(world, fake))


def _receipt(world: World) -> object:
    """An image that no release chose, under a receipt that agrees with all others."""
    other = _unchosen(world)
    choices = (Choice(other.label, (named(other), named(other))),)
    return world.send_image(
        world.bytes_of(other), Prototype(other, _lying(world.source.receipt, choices=choices))
    )


def _choices(world: World) -> object:
    """The same, deeper down."""
    other = _unchosen(world)
    choices = _liar(tuple)((Choice(other.label, (named(other), named(other))),))
    receipt = dataclasses.replace(world.source.receipt, choices=choices)
    return world.send_image(world.bytes_of(other), Prototype(other, receipt))


def _changed_candidate(world: World) -> object:
    """The very object that the gate returned, changed afterwards."""
    world.spoilt = True
    object.__setattr__(world.candidate, "digest", _stored(world))
    return world.send_image(world.bytes_of(world.candidate), world.source)


def _changed_call(world: World) -> object:
    """The very call that is in the plan."""
    world.spoilt = True
    object.__setattr__(world.call, "seed", 417)
    return world.exchange(request=world.spelled(world.call, world.image()))


def _changed_calls(world: World) -> object:
    """The plan's table of calls."""
    call = dataclasses.replace(world.call, seed=417)
    world.spoilt = True
    world.run.plan.calls[call.slot] = call
    return world.exchange(request=world.spelled(call, world.image()), call=call)


def _changed_plan(world: World) -> object:
    """The very plan that the gate was told."""
    world.spoilt = True
    world.run.plan.__dict__["domain"] = secrets.PERSON
    return world.exchange(request=world.spelled(world.call, world.image()))


def _duck(world: World) -> object:
    reason = SimpleNamespace(candidate=world.candidate, receipt=None)
    return world.send_image(world.bytes_of(world.candidate), reason)


def _bare(world: World) -> object:
    return world.send_image(world.bytes_of(world.candidate), world.candidate)


def _own_receipt(world: World) -> object:
    """A receipt that nobody has drawn, for the image that a release did choose."""
    plain = world.source.receipt
    receipt = Receipt(plain.run_id, plain.iteration, plain.choices, (), plain.relation)
    return world.send_image(world.bytes_of(world.candidate), Prototype(world.candidate, receipt))


def _digest_of_words(world: World) -> object:
    words = hashlib.sha256(secrets.PERSON.encode()).hexdigest()
    fake = dataclasses.replace(world.candidate, digest=words)
    return world.exchange(source=_reason(world, fake))


def _dict(world: World) -> object:
    return world.exchange(
        request=SimpleNamespace(method="POST", path=world.request.path, body=world.request.body)
    )


EVERYWHERE = {
    "a request that agrees with everything": _request,
    "a body that agrees with everything": _body,
    "a path that agrees with everything": _path,
    "a call that agrees with everything": _call,
    "a seed that agrees with everything": _seed,
    "a call changed in place": _changed_call,
    "a call changed in the plan's table": _changed_calls,
    "a plan changed in place": _changed_plan,
    "something like a request": _dict,
}
WITH_IMAGE = {
    "a candidate that agrees with everything": _candidate,
    "a digest that agrees with everything": _digest,
    "a candidate changed in place": _changed_candidate,
    "something like a reason": _duck,
    "a candidate as its own reason": _bare,
    "a digest of private words": _digest_of_words,
}
WITH_RECEIPT = {
    "a receipt that agrees with everything": _receipt,
    "choices that agree with everything": _choices,
    "a receipt of one's own": _own_receipt,
}

ATTEMPTS: list[Attempt] = [
    attempt
    for moments, cases in (
        (("create-1", "vary-1", "look-0"), EVERYWHERE),
        (("vary-1", "vary-2", "look-0", "extend"), WITH_IMAGE),
        (VARIES, WITH_RECEIPT),
    )
    for name, act in cases.items()
    for attempt in at_each(moments, "objects", name, act, ANY)
]
