"""A workflow of ComfyUI as exported by its owner, and its inputs that a request sets. All functions are pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "prompt": ("text", "text_g", "text_l", "prompt", "string", "value"),
    "seed": ("seed", "noise_seed", "value"),
    "image": ("image",),
    "strength": ("denoise", "strength", "value"),
}
"""The inputs to set in a node, if it has them, by the word in the node's title."""
MOST_CHARS: Final = 100_000
_NEEDED: Final = ("prompt", "seed")


def normalize(text: str) -> str:
    """Return a workflow in the unique form that a plan uses (``ValueError`` if a request could not fill it)."""
    if len(text) > MOST_CHARS:
        raise ValueError(f"the workflow has more than {MOST_CHARS} characters")
    try:
        workflow = json.loads(text)
        spelled = json.dumps(workflow, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # This fails for lone surrogates, which JSON may contain and a request may not.
        spelled.encode()
    except (ValueError, RecursionError):
        raise ValueError("the workflow is no JSON") from None
    nodes = workflow.values() if isinstance(workflow, dict) else ()
    if not nodes or not all(
        isinstance(node, dict)
        and isinstance(node.get("class_type"), str)
        and isinstance(node.get("inputs"), dict)
        for node in nodes
    ):
        raise ValueError("the workflow is not in the API's format: export it with Export (API)")
    _require_nodes(workflow)
    return spelled


def _require_nodes(workflow: dict[str, Any]) -> None:
    """Refuse a workflow without the nodes that requests set (``ValueError``)."""
    titled = {role for node in workflow.values() for role in _roles_of(node)}
    settable = {role for _, _, role in _find_inputs(workflow)}
    if unset := sorted(titled - settable):
        raise ValueError(
            f"the workflow's node '{unset[0]}' has no input {' or '.join(INPUTS[unset[0]])} with a value of its own"
        )
    needed = {*_NEEDED, *(("image", "strength") if settable & {"image", "strength"} else ())}
    if missing := sorted(needed - settable):
        raise ValueError(
            f"the workflow has no node that is titled '{missing[0]}': give that title to the node that takes it (one "
            "that takes several is titled by all of them: 'seed, strength')"
        )


def takes_image(text: str) -> bool:
    """Return True if a workflow takes an image to vary."""
    return any(role == "image" for _, _, role in _find_inputs(json.loads(text)))


def fill(text: str, values: Mapping[str, object]) -> dict[str, Any]:
    """Return a workflow with a request's values in the titled nodes. The other nodes are unchanged."""
    workflow: dict[str, Any] = json.loads(text)
    for node, name, role in list(_find_inputs(workflow)):
        if role in values:
            node["inputs"][name] = values[role]
    return workflow


def _find_inputs(workflow: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each node with the name of an input to set, and the word of its title."""
    for node in workflow.values():
        for role in _roles_of(node):
            for name in INPUTS[role]:
                # A list is a link to another node's output. If a value replaced the link, that output would no
                # longer be read.
                if name in node["inputs"] and not isinstance(node["inputs"][name], list | dict):
                    yield node, name, role


def _roles_of(node: Mapping[str, Any]) -> list[str]:
    """Return the words of a node's title that name inputs, or nothing if the title contains any other word."""
    meta = node.get("_meta")
    title = meta.get("title") if isinstance(meta, dict) else None
    words = re.findall(r"\w+", title.lower()) if isinstance(title, str) else []
    roles = [each for each in words if each != "and"]
    return roles if set(roles) <= INPUTS.keys() else []
