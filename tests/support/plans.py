"""A plan of each method and dialect."""

from __future__ import annotations

from typing import Any

from pcevolve.public.canonical import CONTROLS
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.encoders import frame_digest
from pcevolve.public.methods import choose_delta
from pcevolve.public.plan import PublicPlan
from pcevolve.public.selectors import METHODS, find_method
from pcevolve.wire.providers import dialect
from support.runs import small_plan

PROMPTS = (("a cut", "a long cut"), ("good leather", "better leather"))


def plan_of(method: str, spoken: str, **changes: object) -> PublicPlan:
    """A plan in its one form, with everything that the method has."""
    chosen = find_method(method)
    shape: dict[str, Any] = {
        "method": method, "dialect": spoken, "candidates": 4, "initial": 8, "delta": choose_delta(method),
        "prototypes": chosen.prototypes_for(4), "centre_first": bool(chosen.centre_first), "keep": chosen.keep,
        "pool": chosen.pool, "variations": chosen.variations,
    }  # fmt: skip
    if not chosen.varies:
        shape |= {"iterations": 0, "strengths": (), "prototypes": 1, "candidates": 8}
    if "secret_prior" in chosen.own_options:
        shape |= {"cells": 4, "secrecy": {"prior": 1e-4, "bound": 1e-3, "most": 10}}
    if chosen.centre_first and dialect(spoken).abilities.makes == "image":
        shape["frame"] = frame_digest("bundled", None)
    if dialect(spoken).abilities.makes == "text":
        shape["modality"] = {"kind": "text", "tokens": 40, "temperature": 1.0}
        shape["encoder"] = "" if method in CONTROLS else "words"
    if "vary" not in dialect(spoken).abilities.capabilities and chosen.varies:
        shape |= {"vary_by": "prompt", "prompts": PROMPTS, "strengths": ()}
    return small_plan(**{**shape, **changes})


CASES = [
    (method.name, spoken)
    for method in METHODS.values()
    for spoken in ABILITIES
    if spoken == "chat" or "secret_prior" not in method.own_options
]
