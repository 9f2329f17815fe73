"""The published methods, one file each; every one a short composition of shared parts."""

from __future__ import annotations

from ..errors import UsageError
from . import pcevolve, random, t2i
from .method import Method

METHODS: dict[str, Method] = {each.name: each for each in (pcevolve.METHOD, random.METHOD, t2i.METHOD)}


def method(name: str) -> Method:
    """Find a method by name.

    Raises:
        UsageError: No such method.
    """
    if name not in METHODS:
        raise UsageError(f"unknown method '{name}': choose one of {', '.join(sorted(METHODS))}")
    return METHODS[name]
