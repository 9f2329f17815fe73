"""Bits in which requests are sent, and when: skipped, swapped, repeated, added, or of another plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NoReturn

from leaks import secrets
from leaks.attempts import UNCHANGED, Act, Attempt, UnchangedError, at_each
from leaks.families.receipts import named
from leaks.world import CALLS, MOMENTS, World, asked
from pcevolve.egress.gate import Gate
from pcevolve.egress.policy import Source
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import Address
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Prototype, PublicEcho
from pcevolve.transcript.log import Transcript
from support.plans import changed
from support.runs import ADDRESS, small_plan

EARLY = "is out of order"
UNPLANNED = "is not in the public plan"
OTHER_PLAN = "on record with another plan"


def _plan() -> PublicPlan:
    """The plan of every world."""
    return small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1)


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
    """Slots of the plan after the one that a moment stops at."""
    slots = list(_plan().calls)
    yield from slots[slots.index(MOMENTS[moment]) + 1 :]


def _again(world: World) -> NoReturn:
    """The first call once more, after it was answered: it is answered from memory."""
    world.ask(call=next(iter(world.run.plan.calls.values())), source=None)
    raise UnchangedError(UNCHANGED)


def _again_with_image(world: World) -> object:
    call = next(iter(world.run.plan.calls.values()))
    return world.ask(call=call, source=PublicEcho(world.candidate))


def _begun(plan: PublicPlan) -> Act:
    return lambda world: world.run.gate.begin(plan, world.run.account.committed, world.run.account.measured)


def _before_a_plan(world: World) -> object:
    """A gate that has not been told of any plan."""
    transcript = Transcript(world.run.root / "other")
    gate = Gate(transcript, world.dialect, ADDRESS, world.provider, Patience(seconds=1, first=1))
    return asked(gate, world.call, world.source)


def _closed_early(world: World) -> object:
    """Where a run ends tells something, so it may only end where the plan does."""
    return world.run.gate.finish()


def _believing(world: World) -> object:
    """The gate is told of the plan once more, and of somebody who believes every receipt."""
    world.spoilt = True
    return world.run.gate.begin(world.run.plan, lambda receipt: True, world.run.account.measured)


def _balance(world: World) -> object:
    """A question that is the same for everybody, but asked now: a bit in whether it is asked."""
    return world.run.gate.balance()


def _two_at_once(world: World) -> object:
    """The question for two texts at once, which names a model: any words."""
    return world.run.gate.takes_several("Ann Example")


def _begun_without_a_greeting(world: World) -> object:
    """A gate that leads elsewhere is told the plan, but does not look at the record first."""
    address, patience = Address("http://evil.example:9"), Patience(seconds=1, first=1)
    gate = Gate(world.run.transcript, world.dialect, address, world.provider, patience)
    gate.begin(world.run.plan, world.run.account.committed, world.run.account.measured)
    return asked(gate, world.call, world.source)


def _extra(**changes: object) -> Act:
    """One call more than the plan has."""

    def act(world: World) -> object:
        call = dataclasses.replace(world.call, **changes)
        return world.ask(call=call)

    return act


PLANS = {
    "more steps": {"steps": 51},
    "another seed": {"run_seed": 8},
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

ATTEMPTS: list[Attempt] = [
    *(
        Attempt("order", f"{slot} too early", moment, _ahead(slot), EARLY)
        for moment in ("create-1", "look-0", "vary-1")
        for slot in _later(moment)
    ),
    *(
        Attempt("order", "again", moment, _again, UNCHANGED, UnchangedError)
        for moment in ("vary-1", "extend", "all-sent")
    ),
    *at_each(("vary-1", "extend"), "order", "again, with an image", _again_with_image, "must carry no image"),
    *at_each(CALLS, "order", "begun again", _believing, "is fixed"),
    *at_each((*CALLS, "all-sent"), "order", "the balance asked for", _balance, "is fixed"),
    *at_each((*CALLS, "all-sent"), "order", "two asked for at once", _two_at_once, "is fixed"),
    *at_each(
        ("create-1", "vary-1"), "addresses", "without a greeting", _begun_without_a_greeting, "another API"
    ),
    *at_each(CALLS, "order", "closed early", _closed_early, "not all of the plan"),
    *at_each(CALLS, "order", "before any plan", _before_a_plan, UNPLANNED),
    *at_each(
        ("create-1", "vary-2", "extend"),
        "order",
        "one call more",
        _extra(slot="i003/c000/n000000"),
        UNPLANNED,
    ),
    *at_each(
        ("create-1", "vary-2", "extend"), "order", "one batch more", _extra(first=4, count=2), UNPLANNED
    ),
    *(
        attempt
        for name, changes in PLANS.items()
        for attempt in at_each(
            ("create-1", "vary-1"), "plans", name, _begun(changed(_plan(), changes)), OTHER_PLAN
        )
    ),
]
