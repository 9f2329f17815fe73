"""How texts are asked for: from options to the settings of a plan."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from pcevolve.methods.method import AppearanceMode, Method, Schedule
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Budget
from pcevolve.providers.dialect import Advice, ModelSize
from pcevolve.public.fields import TEXT_TEMPLATE, UNLABELLED_TEXT_TEMPLATE
from pcevolve.run.settings import USUAL_TEMPERATURE, USUAL_TOKENS, RunSettings

BLANKS: Final = Schedule(start=0.6, end=0.3, step=0.1)
"""Shares of a text's words that are blanks when it is varied, unless the user says."""


def modality(
    settings: RunSettings, size: ModelSize, advice: Advice | None, asked: AbstractSet[str]
) -> dict[str, object]:
    """The settings of texts in a plan; see ``concerns.Asking``."""
    return {
        "kind": "text",
        "tokens": settings.tokens or USUAL_TOKENS,
        "temperature": USUAL_TEMPERATURE if settings.temperature is None else settings.temperature,
    }


def template(unlabelled: bool) -> str:
    """The usual prompt; what has no labels has nothing but the domain's words."""
    return UNLABELLED_TEXT_TEMPLATE if unlabelled else TEXT_TEMPLATE


def schedule(method: Method) -> Schedule:
    """The blanks of variations, unless the user says: the same with every method."""
    return BLANKS


def appearance(method: Method, budget: Budget, scope: Scope, calibration: str) -> AppearanceMode:
    """As it is: a text has no look."""
    return "as-is"
