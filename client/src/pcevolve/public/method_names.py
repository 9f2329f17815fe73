"""Names of methods, and their names in the papers. It uses the standard library alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pcevolve.errors import UsageError

AUTO: Final = "auto"
"""Chooses a method by public sizes; not a method itself."""
ALIASES: Final = {"b": "t2i"}
"""The papers' names of methods that are called otherwise here."""
ELSEWHERE: Final = {
    "init": "the untrained head is a row of the tables of 'pcevolve-bench table'",
    "private": "the private images themselves are judged by 'pcevolve evaluate' with --mix",
    "dp-means-classifier": "every run of dp-means releases it: 'pcevolve classify RUN IMAGES' applies it, and a table "
    "of 'pcevolve-bench table' has it as a row",
}
"""Rows of the papers' tables that make no dataset, and where to find them."""


def require_method(name: str, known: Iterable[str]) -> str:
    """Return a method's own name for its name here or in its paper; ``auto`` counts if it is known.

    Raises:
        UsageError: It is not a known method.
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
