"""Private words where a request has public ones: they come from the plan, so a call or a plan has to bring them."""

from __future__ import annotations

import base64
import dataclasses

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import CALLS, World
from support.plans import changed, field_of

WORDS = {
    "a person's name": secrets.PERSON,
    "a file name": secrets.FILE_NAME,
    "a unit's id": secrets.UNIT,
    "EXIF": secrets.EXIF,
    "pixels": base64.b64encode(secrets.pixels().tobytes()[:48]).decode(),
}
HIDDEN = {
    "zero-width characters": "\u200b\u200c\u200b",
    "a trailing space": " ",
    "a soft hyphen": "\u00ad",
    "a combining accent": "\u0301",
}
IN_CALL = ("label", "slot", "source", "purpose")
IN_PLAN = ("domain", "prompt_template", "negative_prompt", "model")
MOMENTS = ("create-1", "vary-2", "look-0", "extend")
UNPLANNED = "is not in the public plan"
OTHER_PLAN = "on record with another plan"


def _in_call(field: str, words: str) -> Act:
    return lambda world: world.ask(call=dataclasses.replace(world.call, **{field: words}))


def _behind(field: str, words: str) -> Act:
    """The honest words, and more."""
    return lambda world: _in_call(field, f"{getattr(world.call, field)}{words}")(world)


def _other_class(world: World) -> object:
    """One class's prompt in the request of the other: one bit."""
    label = next(each for each in world.run.plan.labels if each != world.call.label)
    return world.ask(call=dataclasses.replace(world.call, label=label))


def _other_wording(world: World) -> object:
    """One of a class's prompts in the request of another: one bit."""
    return world.ask(call=dataclasses.replace(world.call, wording=(world.call.wording or 0) + 1))


def begun(**changes: object) -> Act:
    """The gate is told another plan."""

    def act(world: World) -> object:
        plan, account = world.run.plan, world.run.account
        return world.run.gate.begin(changed(plan, changes), account.committed, account.measured)

    return act


def _begun_behind(field: str, words: str) -> Act:
    """The gate is told another plan, with words behind the honest ones."""
    return lambda world: begun(**{field: f"{field_of(world.run.plan, field)} {words}"})(world)


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for field in IN_CALL
        for name, words in WORDS.items()
        for attempt in at_each(
            MOMENTS, "private words", f"{name} as a call's {field}", _in_call(field, words), UNPLANNED
        )
    ),
    *(
        attempt
        for name, words in HIDDEN.items()
        for attempt in at_each(
            MOMENTS, "hidden words", f"{name} behind the label", _behind("label", words), UNPLANNED
        )
    ),
    *(
        attempt
        for field in IN_PLAN
        for name, words in WORDS.items()
        for attempt in at_each(
            ("create-1", "vary-1"),
            "private prompts",
            f"{name} in a plan's {field}",
            _begun_behind(field, words),
            OTHER_PLAN,
        )
    ),
    *at_each(CALLS, "private prompts", "another class's", _other_class, UNPLANNED),
    *at_each(CALLS, "private prompts", "another of its class's", _other_wording, UNPLANNED),
]
