"""Smuggling to a rewriter, or in words that it had not said; for runs that reword prompts."""

from __future__ import annotations

import dataclasses

from leaks import secrets
from leaks.attempts import UNPLANNED, Act, Attempt, attempts, call
from leaks.families.receipts import ELSEWHERE, OTHER, PROTOTYPE, UNKNOWN
from leaks.world import REWORDINGS, World
from pcevolve.egress.address import Address
from pcevolve.egress.policy import Policy
from pcevolve.errors import TranscriptError
from pcevolve.public.calls import Call
from pcevolve.public.release import Prototype, PublicEcho
from support.runs import ADDRESS


def _another(world: World) -> object:
    """Another candidate's prompt, for the honest reason."""
    assert isinstance(world.source, Prototype)
    named = {each.id for each in world.receipt.of(world.call.label)}
    stage = world.candidate.id[:4]
    others = (each for each in world.of_class(world.call.label) if each.id.startswith(stage))
    other = next(each for each in others if each.id not in named)
    return world.ask(source=world.with_reason(other))


def _of_another_class(world: World) -> object:
    return world.ask(source=world.with_reason(world.made[world.receipt.of(world.other_label)[0].id]))


def _unpaid(world: World) -> object:
    """A receipt that nobody paid for."""
    receipt = dataclasses.replace(world.receipt, values=(17.0,))
    return world.ask(source=Prototype(world.candidate, receipt))


def _later_call(world: World) -> Call:
    """The call that draws what is being reworded."""
    stage = f"i{world.call.iteration:03d}/"
    return next(
        each
        for slot, each in world.run.plan.calls.items()
        if slot.startswith(stage) and (each.label, each.parent) == (world.call.label, world.call.parent)
    )


def _exchanged_words(world: World) -> object:
    """A rewording on disk in other words, between the rewriter's answer and the request for the image."""
    world.spoilt = True
    digest = world.made[world.call.rewording].digest
    (world.run.root / "transcript" / "bodies" / digest).write_text(secrets.PERSON)
    return world.ask()


def _told_by_a_friend(world: World) -> object:
    """Outputs of a rewording that a loop in league reports itself."""
    call = next(world.run.plan.rewordings(1))
    return world.run.gate._replies.store(call, [secrets.PERSON.encode()], None)


def _fixed(world: World, *rewriter: Address) -> object:
    """The plan is told to a gate that has another rewriter, or none: a plan is for the one that it names."""
    return Policy(world.dialect, ADDRESS, world.bytes_of, *rewriter).fix(world.run.plan, lambda receipt: True)


FIELDS: dict[str, object] = {
    "words": secrets.PERSON,
    "label": secrets.UNIT,
    "wording": 1,
    "parent": 17,
    "count": 2,
    "seed": 17,
    "source": "i000-c000-000000",
    "iteration": 3,
    "purpose": "create",
    "slot": "w001/c000/n000017",
}
VARY = ("vary-1", "vary-2")
OTHER_REWRITER = "another rewriter than the one"
REWORDED: dict[str, tuple[Act, str]] = {
    **{f"a question with another {name}": (call(**{name: each}), UNPLANNED) for name, each in FIELDS.items()},
    "a prompt that nothing chose": (lambda world: world.ask(source=None), PROTOTYPE),
    "a prompt that the plan is said to name": (
        lambda world: world.ask(source=PublicEcho(world.candidate)),
        PROTOTYPE,
    ),
    "another image's prompt": (_another, OTHER),
    "a prompt of another class": (_of_another_class, f"{ELSEWHERE}|{OTHER}"),
    "a prompt that nobody paid for": (_unpaid, UNKNOWN),
    "an image drawn before its prompt is reworded": (
        lambda world: world.ask(call=_later_call(world)),
        "out of order",
    ),
    "the trial again, about a prototype": (lambda world: world.ask(call=world.first_call), "must carry"),
    "the image provider as rewriter": (lambda world: _fixed(world, ADDRESS), OTHER_REWRITER),
    "no rewriter": (_fixed, OTHER_REWRITER),
}
VARIED: dict[str, tuple[Act, str]] = {
    "an image with words of the client's": (call(words=secrets.PERSON), UNPLANNED),
    "an image by the prompt as it was": (call(wording=0), UNPLANNED),
    "a rewording for an image": (
        lambda world: world.ask(source=world.with_reason(world.made["w001-c000-000000"])),
        f"{OTHER}|{ELSEWHERE}",
    ),
}
ATTEMPTS: list[Attempt] = [
    *attempts("rewordings", REWORDINGS, REWORDED),
    *attempts("rewordings", VARY, VARIED),
    *attempts(
        "rewordings",
        VARY,
        {
            "a rewording changed on disk": (_exchanged_words, "was changed"),
            "a rewording that nobody had answered": (_told_by_a_friend, "brought other outputs"),
        },
        error=TranscriptError,
    ),
]
