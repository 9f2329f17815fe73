"""How images are asked for: from options, the API's size and its advice to the settings of a plan."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from pcevolve.methods.method import AppearanceMode, Method, Schedule
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Budget
from pcevolve.providers.dialect import Advice, ModelSize
from pcevolve.public.fields import TEMPLATE, UNLABELLED_TEMPLATE
from pcevolve.run.settings import USUAL_ADAPTER_SCALE, USUAL_GUIDANCE, USUAL_STEPS, RunSettings


def modality(
    settings: RunSettings, size: ModelSize, advice: Advice | None, asked: AbstractSet[str]
) -> dict[str, object]:
    """The settings of images in a plan; see ``concerns.Asking``."""
    return {
        "kind": "image",
        "negative_prompt": settings.negative_prompt,
        "guidance": _guidance(settings, advice) if "guidance" in asked else None,
        "steps": settings.steps or (advice.steps if advice else USUAL_STEPS) if "steps" in asked else None,
        "adapter": settings.adapter,
        "adapter_scale": _adapter_scale(settings),
        "width": settings.size or size.width,
        "height": settings.size or size.height,
        "sized": "size" in asked,
    }


def template(unlabelled: bool) -> str:
    """The usual prompt; what has no labels has nothing but the domain's words."""
    return UNLABELLED_TEMPLATE if unlabelled else TEMPLATE


def schedule(method: Method) -> Schedule:
    """The strengths of a method's variations, unless the user says."""
    return method.schedule


def appearance(method: Method, budget: Budget, scope: Scope, calibration: str) -> AppearanceMode:
    """What becomes of an image's look where nobody says: the method's own."""
    return method.appearance_for(budget, scope, calibration)


def _adapter_scale(settings: RunSettings) -> float | None:
    if settings.adapter is None or settings.adapter_scale is not None:
        return settings.adapter_scale
    return USUAL_ADAPTER_SCALE


def _guidance(settings: RunSettings, advice: Advice | None) -> float:
    """The user's, where 0 is a wish too; else what the API recommends."""
    if settings.guidance is not None:
        return settings.guidance
    return advice.guidance if advice else USUAL_GUIDANCE
