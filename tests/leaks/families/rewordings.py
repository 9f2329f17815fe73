"""What could be smuggled to a rewriter, or in words that it had not said; for runs that reword prompts."""

from __future__ import annotations

import dataclasses

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.families.receipts import ELSEWHERE, OTHER, UNKNOWN
from leaks.world import REWORDINGS, World
from pcevolve.egress.policy import Policy
from pcevolve.errors import TranscriptError
from pcevolve.public.calls import Call
from pcevolve.public.release import Prototype, PublicEcho
from support.runs import ADDRESS

UNPLANNED = "is not in the public plan"
PROTOTYPE = "must carry a released prototype"


def _changed(**changes: object) -> Act:
    return lambda world: world.ask(call=dataclasses.replace(world.call, **changes))


def _without_source(world: World) -> object:
    return world.ask(source=None)


def _echo(world: World) -> object:
    return world.ask(source=PublicEcho(world.candidate))


def _another(world: World) -> object:
    """Another candidate's prompt, for the honest reason."""
    assert isinstance(world.source, Prototype)
    named = {each.id for each in world.receipt.of(world.call.label)}
    stage = world.candidate.id[:4]
    others = (each for each in world.of_class(world.call.label) if each.id.startswith(stage))
    other = next(each for each in others if each.id not in named)
    return world.ask(source=world.with_reason(other))


def _of_another_class(world: World) -> object:
    label = next(each for each in world.run.plan.labels if each != world.call.label)
    other = world.made[world.receipt.of(label)[0].id]
    return world.ask(source=world.with_reason(other))


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


def _drawn_before(world: World) -> object:
    """An image is asked for before its prompt was reworded."""
    return world.ask(call=_later_call(world))


def _asked_again(world: World) -> object:
    """The trial once more, with a prototype's prompt in it."""
    trial = next(iter(world.run.plan.calls.values()))
    return world.ask(call=trial)


def _exchanged_words(world: World) -> object:
    """A rewording on disk in other words, between the rewriter's answer and the request for the image."""
    world.spoilt = True
    digest = world.made[world.call.rewording].digest
    (world.run.root / "transcript" / "bodies" / digest).write_text(secrets.PERSON)
    return world.ask()


def _taken_for_an_image(world: World) -> object:
    """What the rewriter wrote, in the place of a prototype."""
    words = world.made["w001-c000-000000"]
    return world.ask(source=world.with_reason(words))


def _told_by_a_friend(world: World) -> object:
    """Outputs of a rewording that a loop in league reports itself."""
    call = next(world.run.plan.rewordings(1))
    return world.run.gate._replies.store(call, [secrets.PERSON.encode()], None)


def _policy_elsewhere(world: World) -> object:
    """A gate whose rewriter is the image provider: a plan is for the one that it names."""
    return Policy(world.dialect, ADDRESS, world.bytes_of, ADDRESS).fix(world.run.plan, lambda receipt: True)


def _policy_without(world: World) -> object:
    return Policy(world.dialect, ADDRESS, world.bytes_of).fix(world.run.plan, lambda receipt: True)


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
ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for name, value in FIELDS.items()
        for attempt in at_each(
            REWORDINGS, "rewordings", f"a question with another {name}", _changed(**{name: value}), UNPLANNED
        )
    ),
    *at_each(REWORDINGS, "rewordings", "a prompt that nothing chose", _without_source, PROTOTYPE),
    *at_each(REWORDINGS, "rewordings", "a prompt that the plan is said to name", _echo, PROTOTYPE),
    *at_each(REWORDINGS, "rewordings", "another image's prompt", _another, OTHER),
    *at_each(
        REWORDINGS, "rewordings", "a prompt of another class", _of_another_class, f"{ELSEWHERE}|{OTHER}"
    ),
    *at_each(REWORDINGS, "rewordings", "a prompt that nobody paid for", _unpaid, UNKNOWN),
    *at_each(
        REWORDINGS,
        "rewordings",
        "an image drawn before its prompt is reworded",
        _drawn_before,
        "out of order",
    ),
    *at_each(REWORDINGS, "rewordings", "the trial again, about a prototype", _asked_again, "must carry"),
    *at_each(REWORDINGS, "rewordings", "the image provider as rewriter", _policy_elsewhere, OTHER_REWRITER),
    *at_each(REWORDINGS, "rewordings", "no rewriter", _policy_without, OTHER_REWRITER),
    *at_each(
        VARY, "rewordings", "an image with words of the client's", _changed(words=secrets.PERSON), UNPLANNED
    ),
    *at_each(VARY, "rewordings", "an image by the prompt as it was", _changed(wording=0), UNPLANNED),
    *at_each(VARY, "rewordings", "a rewording for an image", _taken_for_an_image, f"{OTHER}|{ELSEWHERE}"),
    *(
        Attempt("rewordings", name, moment, act, reason, TranscriptError)
        for moment in VARY
        for name, act, reason in (
            ("a rewording changed on disk", _exchanged_words, "was changed"),
            ("a rewording that nobody had answered", _told_by_a_friend, "brought other outputs"),
        )
    ),
]
