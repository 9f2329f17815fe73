"""The same attempts in every dialect, whatever its bodies look like."""

from __future__ import annotations

import dataclasses
from typing import Any

from leaks import secrets
from leaks.attempts import Act, Attempt
from leaks.families.words import OTHER_PLAN, UNPLANNED, begun
from leaks.world import World
from pcevolve.providers import DIALECTS
from pcevolve.public.release import Candidate, PublicEcho
from support.plans import OF_IMAGES
from support.provider import png

PLANS: dict[str, dict[str, object]] = {
    "model": {"model": secrets.UNIT},
    "domain": {"domain": secrets.PERSON},
    "prompt": {"prompt_template": "{label} in " + secrets.FILE_NAME},
    "prompts": {"prompts": ((secrets.PERSON,), (secrets.UNIT,))},
    "negative prompt": {"negative_prompt": secrets.EXIF},
    "adapter": {"adapter": secrets.UNIT, "adapter_scale": 0.5},
    "steps": {"steps": 51},
    "guidance": {"guidance": 7.5000001},
    "size": {"width": 24, "height": 24},
    "seed": {"run_seed": 417},
}
OF_TEXTS: dict[str, dict[str, object]] = {"tokens": {"tokens": 41}, "temperature": {"temperature": 1.0000001}}
CALLS: dict[str, dict[str, Any]] = {
    **{f"{words} as the label": {"label": words} for words in secrets.ALL},
    "another class": {"label": "good"},
    "another count": {"count": 1},
    "another seed": {"seed": 417},
    "another first image": {"first": 2},
    "a strength": {"strength": 0.5},
}


def _plans(spoken: str) -> dict[str, dict[str, object]]:
    """Other plans that a dialect could spell."""
    if DIALECTS[spoken].makes == "image":
        return PLANS
    common = {name: changes for name, changes in PLANS.items() if not set(changes) & OF_IMAGES}
    return common | OF_TEXTS


def _call(changes: dict[str, Any]) -> Act:
    return lambda world: world.ask(call=dataclasses.replace(world.call, **changes))


def _image(world: World) -> object:
    """Text-to-image, but the loop says that the call varies something."""
    return world.ask(source=PublicEcho(Candidate.received(world.call, 0, None, png(1), "image/png")))


ATTEMPTS: list[Attempt] = [
    attempt
    for each in sorted(DIALECTS)
    for attempt in (
        *(
            Attempt("dialects", f"a call with {name}", "create-1", _call(changes), UNPLANNED, spoken=each)
            for name, changes in CALLS.items()
        ),
        *(
            Attempt(
                "dialects", f"another plan's {name}", "create-1", begun(**changes), OTHER_PLAN, spoken=each
            )
            for name, changes in _plans(each).items()
        ),
        Attempt("dialects", "an image", "create-1", _image, "must carry no image", spoken=each),
    )
]
