"""Runs of texts whose requests have fields under the API's own names, and whose answers name a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import (
    Act,
    Event,
    Forgery,
    edited,
    embodied,
    made_to_fit,
    of_family,
)
from leaks.forgeries.lines import DAMAGED
from leaks.forgeries.requests import BODY
from pcevolve.providers.codec import encode_json

KIND = "renamed"
SLOT = "i000/c000/n000000"
ANOTHER = r"line \d+: 'received' i000/c000/n000000 stands where request i000/c000/n000000 is due"


def respelt(change: Callable[[dict], object], kind: str = "sent") -> Act:
    """A request, or the answer to it, with other fields; its record is as it would be."""

    def edit(body: bytes, root: Path) -> bytes:
        values = json.loads(body)
        change(values)
        return encode_json(values)

    return embodied(edit, SLOT, kind)


def renamed(old: str, new: str) -> Act:
    """A field under another name than the plan has for it, in its place."""

    def change(values: dict) -> None:
        before = dict(values)
        values.clear()
        values.update((new if name == old else name, value) for name, value in before.items())

    return respelt(change)


def planned(**changes: object) -> Act:
    """A plan that says otherwise how a request takes its fields."""

    def change(event: Event) -> None:
        event["plan"]["modality"].update(changes)

    return edited("planned", change)


def answered_by(model: str, name: str | None = None) -> Act:
    """All that came from another model, which the run kept; the plan may say that this is its name."""

    def act(root: Path) -> None:
        respelt(lambda values: values.update(model=model), "answered")(root)
        if name is not None:
            edited("planned", lambda event: event["plan"].update(answered_by=name))(root)
        made_to_fit(root)

    return act


FORGERIES: list[Forgery] = of_family(
    "forged fields",
    [
        (name, KIND, act, fault)
        for name, act, fault in (
            ("a field by its usual name", renamed("max_completion_tokens", "max_tokens"), BODY),
            ("a field by a name of its own", renamed("max_completion_tokens", "patient_17"), BODY),
            ("a field that is left out", respelt(lambda values: values.update(temperature=0.17)), BODY),
            ("another value under its name", respelt(lambda each: each.update(max_completion_tokens=17)), BODY),
            ("both names", respelt(lambda each: each.update(max_tokens=each["max_completion_tokens"])), BODY),
            ("a plan with the usual names", planned(fields=["temperature="]), BODY),
            (
                "a plan that leaves none out",
                planned(fields=["max_tokens=max_completion_tokens"], temperature=1.0),
                BODY,
            ),
            ("a plan that renames what is said", planned(fields=["seed=messages"]), DAMAGED),
            ("a plan whose rule is words", planned(fields=["seed=patient 17"]), DAMAGED),
            ("an answer by another model", answered_by("another-model"), ANOTHER),
            ("an answer by neither of two names", answered_by("another-model", "third-model"), ANOTHER),
            (
                "a plan that names the model otherwise than all answers",
                edited("planned", lambda event: event["plan"].update(model="another-model")),
                BODY,
            ),
        )
    ],
)  # fmt: skip
