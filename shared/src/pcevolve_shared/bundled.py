"""The bundled generator's words: domains that it draws, as the API server lists them and the client knows them."""

from __future__ import annotations

from typing import Final

BUNDLED: Final = "bundled"
"""The name of the model."""
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
"""Of other words it makes one of these, whatever they say: ``histology`` drew digits."""


def draws(domain: str, domains: tuple[str, ...] = DOMAINS) -> bool:
    """True if a model that draws these domains draws one that is called so: they share a word."""
    known = {word for each in domains for word in each.lower().replace("-", " ").split()}
    return bool(known & {*domain.lower().replace("-", " ").split()})
