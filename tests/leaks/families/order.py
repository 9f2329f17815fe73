"""Bits in which requests are sent, when and where: skipped, swapped, repeated, added, of another plan, elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NoReturn

from leaks import secrets
from leaks.attempts import UNCHANGED, UNPLANNED, Act, Attempt, UnchangedError, attempts, call
from leaks.families.calls import OTHER_PLAN, begun
from leaks.families.receipts import named
from leaks.world import CALLS, MOMENTS, SIZES, World, ask_gate
from pcevolve.errors import UsageError
from pcevolve.public.calls import Call
from pcevolve.public.release import Prototype, PublicEcho
from pcevolve.public.transcript.log import Transcript
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.policy import Source
from pcevolve.wire.egress.retry import RetryPolicy
from support.runs import ADDRESS, small_plan

EVIL = "http://evil.example:9"
TAG = "jane-canary-doe"
HERE = ADDRESS.base_url
ELSEWHERE = {
    "a second host": EVIL,
    "another port": "http://127.0.0.1:10",
    "another scheme": "https://127.0.0.1:9",
    "a path before the path": f"{HERE}/{TAG}",
}
ADDRESSES = {
    "a user": "http://jane:doe@127.0.0.1:9",
    "a user alone": "http://jane@127.0.0.1:9",
    "a query": f"{HERE}/?{TAG}",
    "a fragment": f"{HERE}/#{TAG}",
    "another scheme": "file:///home/jane/" + secrets.FILE_NAME,
    "no host": "http:///" + TAG,
    "a line end": f"{HERE}/v1\r\nX-Leak: {TAG}",
    "a line end in the host": f"{HERE}\r\nX-Leak: {TAG}",
    "a tab": f"{HERE}/\t{TAG}",
    "a space": f"{HERE}/ {TAG}",
    "an empty query": f"{HERE}/?",
    "a backslash": f"{HERE}\\@evil.example",
    "a host in other letters": "http://127.0.0.1\u3002evil.example",
}
KEYS = {
    "a line end": "key\r\nX-Leak: " + TAG,
    "a space": "key " + TAG,
    "other letters": "clé-" + TAG,
    "nothing printable": "key\x7f",
}
PLANS = {
    "more steps": {"steps": 51},
    "another seed": {"seed": 8},
    "another domain": {"domain": secrets.PERSON},
    "another class": {"labels": ("cut", secrets.UNIT)},
    "one class less": {"labels": ("cut",)},
    "another budget": {"epsilon": "11"},
    "another run": {"run_id": "d" * 32},
    "another strength": {"strengths": (0.8, 0.79)},
    "another address": {"api": "http://evil.example"},
    "another template": {"prompt_template": "{label} of " + secrets.PERSON},
    "more samples": {"more": 2},
}


def _ahead(slot: str) -> Act:
    """A call of the plan before its turn, with whatever reason an image would need."""

    def act(world: World) -> object:
        call = world.run.plan.calls[slot]
        return world.ask(call=call, source=_reason(world, call))

    return act


def _reason(world: World, call: Call) -> Source:
    known = next(iter(world.made.values()), None)
    if known is None or call.purpose == "create":
        return None
    if call.source is not None:
        return PublicEcho(world.made.get(call.source, known))
    chosen = world.of_class(call.label)[0]
    return Prototype(chosen, world.pay(5, (call.label, (named(chosen),) * 2)))


def _later(moment: str) -> Iterator[str]:
    """Slots of every world's plan after the one that a moment stops at."""
    slots = list(small_plan(**SIZES).calls)
    yield from slots[slots.index(MOMENTS[moment]) + 1 :]


def _again(world: World) -> NoReturn:
    """The first call once more, after it was answered: it is answered from memory."""
    world.ask(call=world.first_call, source=None)
    raise UnchangedError(UNCHANGED)


def _again_with_image(world: World) -> object:
    return world.ask(call=world.first_call, source=PublicEcho(world.candidate))


def _gate(world: World, address: Address, transcript: Transcript | None = None) -> Gate:
    """Another gate, on the run's record or on another, as a resumed run could have one."""
    patience = RetryPolicy(seconds=1, first=1)
    return Gate(transcript or world.run.transcript, world.dialect, address, world.provider, patience)


def _before_a_plan(world: World) -> object:
    """A gate that has not been told of any plan."""
    return ask_gate(_gate(world, ADDRESS, Transcript(world.run.root / "other")), world.call, world.source)


def _leading_to(base_url: str, greets: bool = True) -> Act:
    """Asks through a gate that leads elsewhere, and may not look at the record first."""

    def act(world: World) -> object:
        world.spoilt = True
        run, gate = world.run, _gate(world, dataclasses.replace(ADDRESS, base_url=base_url))
        if greets:
            gate.hello(run.plan.run_id)
        gate.begin(run.plan, run.account.is_committed, run.account.read_measured)
        return ask_gate(gate, world.call, world.source)

    return act


def _believing(world: World) -> object:
    """The gate is told of the plan once more, and of somebody who believes every receipt."""
    world.spoilt = True
    return world.run.gate.begin(world.run.plan, lambda receipt: True, world.run.account.read_measured)


def _built(base_url: str, key: str | None = None) -> Act:
    return lambda world: Address(base_url, key)


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for moment in ("create-1", "look-0", "vary-1")
        for attempt in attempts(
            "order", moment, {f"{slot} too early": _ahead(slot) for slot in _later(moment)}, "is out of order"
        )
    ),
    *attempts("order", ("vary-1", "extend", "all-sent"), {"again": _again}, UNCHANGED, UnchangedError),
    *attempts(
        "order", ("vary-1", "extend"), {"again, with an image": _again_with_image}, "must carry no image"
    ),
    *attempts(
        "order",
        CALLS,
        {
            "begun again": (_believing, "is fixed"),
            "closed early": (lambda world: world.run.gate.finish(), "not all of the plan"),
            "before any plan": (_before_a_plan, UNPLANNED),
        },
    ),
    *attempts(
        "order",
        (*CALLS, "all-sent"),
        {
            "the balance asked for": lambda world: world.run.gate.balance(),
            "two asked for at once": lambda world: world.run.gate.takes_several("Ann Example"),
        },
        "is fixed",
    ),
    *attempts(
        "order",
        ("create-1", "vary-2", "extend"),
        {"one call more": call(slot="i003/c000/n000000"), "one batch more": call(first=4, count=2)},
        UNPLANNED,
    ),
    *attempts(
        "plans",
        ("create-1", "vary-1"),
        {name: begun(**changes) for name, changes in PLANS.items()},
        OTHER_PLAN,
    ),
    *attempts(
        "addresses",
        ("create-1", "vary-1"),
        {"without a greeting": _leading_to(EVIL, greets=False)},
        "another API",
    ),
    *attempts(
        "addresses",
        "create-1",
        {name: _leading_to(address) for name, address in ELSEWHERE.items()},
        "on record with another",
    ),
    *attempts(
        "addresses",
        "create-1",
        {f"with {name}": _built(address) for name, address in ADDRESSES.items()},
        "--api",
        UsageError,
    ),
    *attempts(
        "headers",
        "create-1",
        {f"a key with {name}": _built(HERE, key) for name, key in KEYS.items()},
        "API key",
        UsageError,
    ),
]
