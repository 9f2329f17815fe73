"""Private words and bits of private pixels in calls and plans, from which a request has its words and numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from leaks import secrets
from leaks.attempts import UNCHANGED, UNPLANNED, Act, Attempt, UnchangedError, attempts, call
from leaks.world import CALLS, World
from pcevolve.errors import ProviderError
from pcevolve.public.modality import Texts
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, PublicEcho
from pcevolve.wire.providers import DIALECTS
from support.provider import png
from support.runs import OF_IMAGES, find_section, replace_settings

OTHER_PLAN = "on record with another plan"
BITS = int.from_bytes(secrets.pixels().tobytes()[:4], "big")
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
NUMBERS: dict[str, Mapping[str, object]] = {
    "the seed": {"seed": BITS},
    "steps": {"steps": 51},
    "guidance": {"guidance": 7.5000001},
    "width": {"width": 24},
    "height": {"height": 8 + BITS % 4000},
    "the batch": {"batch": 1},
    "strengths": {"strengths": (0.8000001, 0.78)},
}
TAMPERED: dict[str, Mapping[str, object]] = {
    "seed": {"seed": BITS},
    "the seed's last bit": {"seed": -1},
    "count": {"count": 63},
    "label": {"label": secrets.PERSON},
    "first image": {"first": BITS},
    "iteration": {"iteration": 9},
    "slot": {"slot": f"i000/c000/{secrets.UNIT}"},
    "source": {"source": secrets.UNIT},
    "parent": {"parent": 7},
    "strength": {"strength": 0.123456},
    "purpose": {"purpose": "reveal"},
}
PLANS: dict[str, Mapping[str, object]] = {
    "model": {"model": secrets.UNIT},
    "domain": {"domain": secrets.PERSON},
    "prompt": {"prompt_template": "{label} in " + secrets.FILE_NAME},
    "prompts": {"prompts": ((secrets.PERSON,), (secrets.UNIT,))},
    "negative prompt": {"negative_prompt": secrets.EXIF},
    "adapter": {"adapter": secrets.UNIT, "adapter_scale": 0.5},
    "steps": {"steps": 51},
    "guidance": {"guidance": 7.5000001},
    "size": {"width": 24, "height": 24},
    "seed": {"seed": 417},
}
OF_TEXTS: dict[str, Mapping[str, object]] = {
    "tokens": {"tokens": 41},
    "temperature": {"temperature": 1.0000001},
}
SPOKEN: dict[str, Mapping[str, object]] = {
    **{f"{words} as the label": {"label": words} for words in secrets.ALL},
    "another class": {"label": "good"},
    "another count": {"count": 1},
    "another seed": {"seed": 417},
    "another first image": {"first": 2},
    "a strength": {"strength": 0.5},
}
IN_CALL = ("label", "slot", "source", "purpose")
IN_PLAN = ("domain", "prompt_template", "negative_prompt", "model")
MOMENTS = ("create-1", "vary-2", "look-0", "extend")


PART = OF_IMAGES | (frozenset(Texts.model_fields) - {"kind"})
"""Settings of a plan that are in its part about images or texts."""


def _changed(plan: PublicPlan, changes: Mapping[str, object]) -> PublicPlan:
    """A plan that says something else, unchecked."""
    part = {name: value for name, value in changes.items() if name in PART}
    others = {name: value for name, value in changes.items() if name not in PART}
    if part:
        others["modality"] = plan.modality.model_copy(update=part)
    return replace_settings(plan, others)


def begun(**changes: object) -> Act:
    """The gate is told another plan."""

    def act(world: World) -> object:
        plan, account = world.run.plan, world.run.account
        return world.run.gate.begin(_changed(plan, changes), account.is_committed, account.read_measured)

    return act


def _begun_behind(field: str, words: str) -> Act:
    """The gate is told another plan, with words behind the honest ones."""

    def act(world: World) -> object:
        plan = world.run.plan
        honest = getattr(plan.modality if field in PART else find_section(plan, field), field)
        return begun(**{field: f"{honest} {words}"})(world)

    return act


def _labelled_behind(words: str) -> Act:
    """The honest label, and more."""
    return lambda world: call(label=f"{world.call.label}{words}")(world)


def _other_class(world: World) -> object:
    """One class's prompt in the request of the other: one bit."""
    return call(label=world.other_label)(world)


def _other_wording(world: World) -> object:
    """One of a class's prompts in the request of another: one bit."""
    return call(wording=(world.call.wording or 0) + 1)(world)


def _image(world: World) -> object:
    """Text-to-image, but the loop says that the call varies something."""
    return world.ask(source=PublicEcho(Candidate.received(world.call, 0, None, png(1))))


def _extra_fields(of: str) -> Act:
    """A value that the gate was given has more fields than its type, and the honest call is asked for.

    The gate need not notice: it has copies of its own, so exactly the honest request leaves.
    """

    def act(world: World) -> NoReturn:
        world.spoilt = True
        value: Any = {"call": world.call, "source": world.source, "plan": world.run.plan}[of]
        value.__dict__["user"] = secrets.PERSON
        value.__dict__["image"] = secrets.list_encodings(secrets.pixels())
        with suppress(ProviderError, LookupError, ValueError):  # the fake provider may not speak the dialect
            world.ask()
        assert world.provider.requests[-1] == world.due, "another request left"
        raise UnchangedError(UNCHANGED)

    return act


def _plans(spoken: str) -> dict[str, Mapping[str, object]]:
    """Other plans that a dialect could spell."""
    if DIALECTS[spoken].abilities.makes == "image":
        return PLANS
    return {name: changes for name, changes in PLANS.items() if not set(changes) & OF_IMAGES} | OF_TEXTS


ATTEMPTS: list[Attempt] = [
    *attempts(
        "private words",
        MOMENTS,
        {
            f"{name} as a call's {field}": call(**{field: words})
            for field in IN_CALL
            for name, words in WORDS.items()
        },
        UNPLANNED,
    ),
    *attempts(
        "hidden words",
        MOMENTS,
        {f"{name} behind the label": _labelled_behind(words) for name, words in HIDDEN.items()},
        UNPLANNED,
    ),
    *attempts(
        "private prompts",
        ("create-1", "vary-1"),
        {
            f"{name} in a plan's {field}": _begun_behind(field, words)
            for field in IN_PLAN
            for name, words in WORDS.items()
        },
        OTHER_PLAN,
    ),
    *attempts(
        "private prompts",
        CALLS,
        {"another class's": _other_class, "another of its class's": _other_wording},
        UNPLANNED,
    ),
    *attempts(
        "numbers",
        ("create-1", "vary-1", "extend"),
        {f"{name}, in another plan": begun(**changes) for name, changes in NUMBERS.items()},
        OTHER_PLAN,
    ),
    *(
        Attempt("extra fields", f"of a {of}", moment, _extra_fields(of), UNCHANGED, UnchangedError, leaves=1)
        for of in ("call", "source", "plan")
        for moment in ("create-2", "vary-1", "look-0")
        if (of, moment) != ("source", "create-2")
    ),
    *attempts(
        "tampered calls", CALLS, {name: call(**changes) for name, changes in TAMPERED.items()}, UNPLANNED
    ),
    *(
        attempt
        for spoken in sorted(DIALECTS)
        for attempt in attempts(
            "dialects",
            "create-1",
            {
                **{f"a call with {name}": (call(**changes), UNPLANNED) for name, changes in SPOKEN.items()},
                **{
                    f"another plan's {name}": (begun(**each), OTHER_PLAN)
                    for name, each in _plans(spoken).items()
                },
                "an image": (_image, "must carry no image"),
            },
            spoken=spoken,
        )
    ),
]
