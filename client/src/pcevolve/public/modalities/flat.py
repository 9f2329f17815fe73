"""How the settings of images are written down: among the others of a plan, as they were before there were texts.

So records of runs with images stay what they are to the last byte. The settings of texts are a part of their own,
``modality``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pcevolve.public.modalities.images import Images

FLAT: Final = ("negative_prompt", "guidance", "steps", "adapter", "adapter_scale", "width", "height", "sized")
"""Settings of images, which stand among those of a plan."""
_BEFORE: Final = {
    "negative_prompt": "candidates",
    "guidance": "batch",
    "steps": "batch",
    "adapter": "batch",
    "adapter_scale": "batch",
    "width": "batch",
    "height": "batch",
    "sized": "batch",
}
"""Before which other setting each of them stands."""
_LEFT_OUT: Final = ("adapter", "adapter_scale", "sized")
"""Not written down where there is nothing to say."""


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
