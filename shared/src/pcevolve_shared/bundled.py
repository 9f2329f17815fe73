"""The bundled generator's domains. The API server lists them, and the client knows them."""

from __future__ import annotations

from typing import Final

BUNDLED: Final = "bundled"
"""The model's id."""
DOMAINS: Final = (
    "blood smear",
    "blood cell",
    "chest x-ray",
    "chest radiograph",
    "handwritten digit",
    "handwritten letter",
    "handwritten mark",
    "surface",
)
"""The only domains that the model draws. For any other word it draws one of these, such as digits for ``histology``."""


def draws(domain: str, domains: tuple[str, ...] = DOMAINS) -> bool:
    """True if a name shares a word with one of the domains."""
    known = {word for each in domains for word in each.lower().replace("-", " ").split()}
    return bool(known & {*domain.lower().replace("-", " ").split()})
