"""Private words in the public text of a request."""

from __future__ import annotations

import base64

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import World
from pcevolve.public.release import PublicPrompt

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
FIELDS = ("prompt", "negative_prompt", "model", "output_format", "response_format")
MOMENTS = ("create-1", "vary-2", "look-0", "extend")


def _in_field(field: str, words: str) -> Act:
    return lambda world: world.send_fields(**{field: words})


def _behind(field: str, words: str) -> Act:
    """The honest words, and more."""
    return lambda world: world.send_fields(**{field: f"{world.fields[field]}{words}"})


def _in_prompt(words: str) -> Act:
    """Through the type that prompts are made of, in whatever way the dialect spells it."""

    def act(world: World) -> object:
        honest = PublicPrompt.of(world.run.plan, world.call.label)
        prompt = PublicPrompt(f"{honest.text} {words}", honest.negative)
        return world.exchange(request=world.spelled(world.call, world.image(), prompt))

    return act


def _other_class(world: World) -> object:
    """One class's prompt in the request of the other: one bit."""
    label = next(each for each in world.run.plan.labels if each != world.call.label)
    return world.exchange(
        request=world.spelled(world.call, world.image(), PublicPrompt.of(world.run.plan, label))
    )


DIFFERS = "differs from what the plan and the release give"
ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for field in FIELDS
        for name, words in WORDS.items()
        for attempt in at_each(
            ("create-1", "vary-1"), "private words", f"{name} as {field}", _in_field(field, words), DIFFERS
        )
    ),
    *(
        attempt
        for name, words in HIDDEN.items()
        for attempt in at_each(
            MOMENTS, "hidden words", f"{name} behind the prompt", _behind("prompt", words), DIFFERS
        )
    ),
    *(
        attempt
        for name, words in WORDS.items()
        for attempt in at_each(MOMENTS, "private prompts", name, _in_prompt(words), DIFFERS)
    ),
    *at_each(MOMENTS, "private prompts", "another class's", _other_class, DIFFERS),
]
