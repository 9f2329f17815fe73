"""What a run makes: images or texts, and how each is asked for. One of the two is in every public plan.

The settings of images are written down among the plan's others, as they were before there were texts, so that records
of runs with images stay what they are to the last byte. Those of texts are a part of their own, ``modality``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pcevolve.public import settings


class Images(BaseModel):
    """How images are asked for.

    Attributes:
        kind: Says that it is images.
        negative_prompt: What they should not show; empty for nothing.
        guidance: Scale.
        steps: Of denoising.
        adapter: IP-Adapter by which prototypes also speak as image prompts; None without one.
        adapter_scale: Its weight; None without one.
        width: Pixels.
        height: Pixels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["image"] = "image"
    negative_prompt: settings.NegativePrompt = ""
    guidance: settings.Guidance = 7.5
    steps: settings.Steps = 50
    adapter: settings.Adapter | None = None
    adapter_scale: settings.AdapterScale | None = None
    width: settings.Pixels
    height: settings.Pixels

    @model_validator(mode="after")
    def _adapter_is_weighed(self) -> Self:
        if (self.adapter is None) != (self.adapter_scale is None):
            raise ValueError("adapter: an adapter and the weight of its image prompt go together")
        return self


class Texts(BaseModel):
    """How texts are asked for.

    Attributes:
        kind: Says that it is texts.
        tokens: Most of one text.
        temperature: Of the language model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["text"]
    tokens: settings.Tokens
    temperature: settings.Temperature


Kind: TypeAlias = Literal["image", "text"]
Modality: TypeAlias = Annotated[Images | Texts, Field(discriminator="kind")]

FLAT: Final = ("negative_prompt", "guidance", "steps", "adapter", "adapter_scale", "width", "height")
"""Settings of images, which stand among those of a plan."""
_BEFORE: Final = {
    "negative_prompt": "candidates",
    "guidance": "batch",
    "steps": "batch",
    "adapter": "batch",
    "adapter_scale": "batch",
    "width": "batch",
    "height": "batch",
}
"""Before which other setting each of them stands."""
_LEFT_OUT: Final = ("adapter", "adapter_scale")
"""Not written down where there is none."""


def gathered(values: object) -> object:
    """A plan's values, as they are written down or given, with the settings of images in a part of their own."""
    if not isinstance(values, Mapping):
        return values
    own = {name: values[name] for name in FLAT if name in values}
    if not own and "modality" in values:
        return values
    rest = {name: value for name, value in values.items() if name not in FLAT}
    given = values.get("modality")
    if given is None:
        return {**rest, "modality": {"kind": "image", **own}}
    if isinstance(given, Images):  # a copy in which some settings are others
        return {**rest, "modality": {**dict(given), **own}}
    return values  # settings of images and of texts at once: for the plan to refuse


def scattered(written: dict[str, Any]) -> dict[str, Any]:
    """What is written down of a plan: the settings of images among its others, in the order that they always had."""
    made = written.get("modality")
    if not isinstance(made, dict) or made.get("kind") != "image":
        return written
    found: dict[str, Any] = {}
    for name, value in written.items():
        if name == "modality":
            continue
        for own in (each for each in FLAT if _BEFORE[each] == name):
            if made.get(own) is not None or own not in _LEFT_OUT:
                found[own] = made.get(own)
        found[name] = value
    return found


_OF_TEXTS: Final = {
    "text-to-image": "new texts",
    "image-to-image": "variations",
    "an image": "a text",
    "image": "text",
    "picture": "text",
}
_OF_IMAGES: Final = re.compile(r"\b(text-to-image|image-to-image|(?i:an image|image|picture)(?=s?\b))")


def spoken(words: str, kind: Kind) -> str:
    """What is said of images, as it is said of a kind.

    Args:
        words: Our own; what a user or a provider wrote would be changed as well.
        kind: Of what is made.
    """
    return words if kind == "image" else _OF_IMAGES.sub(_of_texts, words)


def _of_texts(match: re.Match[str]) -> str:
    found = _OF_TEXTS[match[0].lower()]
    return found.capitalize() if match[0][0].isupper() else found
