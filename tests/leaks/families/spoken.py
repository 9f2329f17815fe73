"""The same attempts in every dialect, whatever its bodies look like."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from leaks import secrets
from leaks.attempts import Act, Attempt
from leaks.world import World
from pcevolve.providers import DIALECTS
from pcevolve.public.plan import Call, PublicPlan
from pcevolve.public.release import PublicPrompt

DIFFERS = "differs from what the plan and the release give"
Respell = Callable[[bytes], bytes]


def _changed_byte(place: float) -> Respell:
    def respell(body: bytes) -> bytes:
        index = int(place * (len(body) - 1))
        return body[:index] + bytes([body[index] ^ 1]) + body[index + 1 :]

    return respell


BODIES: dict[str, Respell] = {
    "one byte more": lambda body: body + b"\n",
    "one byte less": lambda body: body[:-1],
    "one byte before": lambda body: b" " + body,
    "a private name behind it": lambda body: body + secrets.PERSON.encode(),
    "private pixels behind it": lambda body: body + secrets.encoded(secrets.pixels()),
    "its first bit": _changed_byte(0),
    "a bit in the middle": _changed_byte(0.5),
    "its last bit": _changed_byte(1),
    "nothing": lambda body: b"",
}
PLANS: dict[str, dict[str, object]] = {
    "model": {"model": secrets.UNIT},
    "domain": {"domain": secrets.PERSON},
    "prompt": {"prompt_template": "{label} in " + secrets.FILE_NAME},
}


def _body(respell: Respell) -> Act:
    return lambda world: world.send_body(respell(world.request.body))


def _plan(changes: dict[str, object]) -> Act:
    """What an honest client would send for another plan."""

    def act(world: World) -> object:
        plan: PublicPlan = world.run.plan.model_copy(update=changes)
        prompt = PublicPrompt.of(plan, world.call.label)
        return world.exchange(request=world.dialect.encode(plan, world.call, prompt, None))

    return act


def _prompt(words: str) -> Act:
    def act(world: World) -> object:
        honest = PublicPrompt.of(world.run.plan, world.call.label)
        prompt = PublicPrompt(f"{honest.text} {words}", honest.negative)
        return world.exchange(request=world.spelled(world.call, None, prompt))

    return act


def _count(world: World) -> object:
    """More images than the plan asks for; where a dialect has no count, another class's prompt."""
    other: Call = dataclasses.replace(world.call, count=1, label="good")
    return world.exchange(request=world.spelled(other, None))


def _typed(world: World) -> object:
    kind = f"{world.request.content_type}; name={secrets.UNIT}"
    return world.exchange(request=dataclasses.replace(world.request, content_type=kind))


def _path(world: World) -> object:
    path = f"{world.request.path}?{secrets.UNIT}"
    return world.exchange(request=dataclasses.replace(world.request, path=path))


ACTS: dict[str, Act] = {
    **{f"a body with {name}": _body(respell) for name, respell in BODIES.items()},
    **{f"another plan's {name}": _plan(changes) for name, changes in PLANS.items()},
    **{f"{words} in the prompt": _prompt(words) for words in secrets.ALL},
    "another class and count": _count,
    "a media type's parameter": _typed,
    "a query": _path,
}

ATTEMPTS: list[Attempt] = [
    Attempt("dialects", name, "create-1", act, DIFFERS, spoken=each)
    for each in sorted(DIALECTS)
    for name, act in ACTS.items()
]
