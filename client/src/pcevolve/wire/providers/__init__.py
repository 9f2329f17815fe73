"""Remote APIs, one dialect per file: pure functions between public calls and wire bytes; no sockets, no record."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from pcevolve.public.dialects import find_abilities
from pcevolve.wire.providers.dialect import Dialect, WireRequest

__all__ = ["Dialect", "WireRequest", "dialect"]


@cache
def dialect(name: str) -> Dialect:
    """Find a dialect by name, loaded at first use (``UsageError`` if it is unknown)."""
    module, _, kind = find_abilities(name).place.partition(":")
    found: Dialect = getattr(import_module(f"{__name__}.{module}"), kind)()
    return found
