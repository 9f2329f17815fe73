"""The published methods and ours, one file each; every one a short composition of shared parts."""

from __future__ import annotations

from ..errors import UsageError
from . import dp_means, jvem, pcevolve, pcevolve_gm, pe, random, t2i
from .method import Method

METHODS: dict[str, Method] = {
    each.name: each
    for each in (
        dp_means.METHOD,
        jvem.METHOD,
        pcevolve.METHOD,
        *pcevolve.ABLATIONS,
        pcevolve_gm.METHOD,
        pe.METHOD,
        pe.EXPONENTIAL,
        random.METHOD,
        t2i.METHOD,
    )
}
AUTO = "auto"


def method(name: str) -> Method:
    """Find a method by name.

    Raises:
        UsageError: No such method.
    """
    if name not in METHODS:
        raise UsageError(f"unknown method '{name}': choose one of {', '.join(sorted([*METHODS, AUTO]))}")
    return METHODS[name]
