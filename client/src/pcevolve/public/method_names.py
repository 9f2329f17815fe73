"""Names of methods, and the names that papers give them. This module imports only the standard library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pcevolve.errors import UsageError

AUTO: Final = "auto"
"""Placeholder that lets the client choose a method by public sizes."""
ALIASES: Final = {"b": "t2i"}
"""Names from the papers of methods that have another name here."""
ELSEWHERE: Final = {
    "init": "the untrained head is a row of the tables of 'pcevolve-bench table'",
    "private": "the private images themselves are judged by 'pcevolve evaluate' with --mix",
    "dp-means-classifier": "every run of dp-means releases it: 'pcevolve classify RUN IMAGES' applies it, and a table "
    "of 'pcevolve-bench table' has it as a row",
}
"""Rows of the papers' tables that make no dataset, and for each row the command that covers it."""


def require_method(name: str, known: Iterable[str]) -> str:
    """Return the name of a method, given its name here or in its paper. ``auto`` is accepted if ``known`` contains it.

    Raises:
        UsageError: The method is unknown.
    """
    name = ALIASES.get(name, name)
    if name in known:
        return name
    if name in ELSEWHERE:
        raise UsageError(f"'{name}' makes no dataset, so it is no method: {ELSEWHERE[name]}")
    if name == AUTO:
        raise UsageError(
            "auto is not a method but chooses one by public sizes: name the method that it would choose"
        )
    raise UsageError(f"unknown method '{name}': choose one of {', '.join(sorted({*known, AUTO}))}")
