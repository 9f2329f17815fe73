"""Compare the model that answered with the one that was asked for, by their names alone."""

from __future__ import annotations

import re
from typing import Final

_HASH: Final = re.compile(r"\s*\[([0-9a-f]{6,64})\]\s*$")
"""How web UIs write the beginning of a checkpoint's digest behind its name."""
_FILE: Final = re.compile(r"\.(?:safetensors|ckpt|gguf|bin|pt|pth)$")
_MOVING: Final = re.compile(r"[-@:](?:latest|preview|free|online|default)$")
"""What a name ends with that stands for whichever version is served."""
_VERSION: Final = re.compile(r"[-@:]v?[0-9][0-9.\-]*$")


def is_same_model(asked: str, answered: str) -> bool:
    """True if two names may be those of one model.

    They may differ in folders and owners before the name, in the ending of a file, in a digest that one of them lacks,
    and in a version that one of them leaves open: ``gpt-4o`` is answered by ``gpt-4o-2024-08-06``.
    """
    one, other = asked.lower(), answered.lower()
    hashes = [found[1] for found in map(_HASH.search, (one, other)) if found]
    if len(hashes) == len((one, other)) and not hashes[0].startswith(hashes[1]):
        return hashes[1].startswith(hashes[0])
    one, other = _bare(one), _bare(other)
    fixed = _MOVING.sub("", one), _MOVING.sub("", other)
    if fixed[0] == fixed[1]:
        return True
    is_open = fixed != (one, other) or not (_VERSION.search(one) and _VERSION.search(other))
    return is_open and _VERSION.sub("", fixed[0]) == _VERSION.sub("", fixed[1])


def _bare(name: str) -> str:
    return _FILE.sub("", re.split(r"[/\\]", _HASH.sub("", name))[-1])
