"""Remote APIs: one dialect per file, pure functions between public calls and wire bytes. No sockets, no record."""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve.providers.a1111 import A1111Dialect
from pcevolve.providers.chat import ChatDialect
from pcevolve.providers.dialect import Dialect, ModelSize, WireRequest, require
from pcevolve.providers.getimg import GetimgDialect
from pcevolve.providers.openai import OpenAIDialect, PlainOpenAIDialect
from pcevolve.providers.siliconflow import SiliconFlowDialect
from pcevolve.providers.stability import StabilityDialect

__all__ = ["DIALECTS", "Dialect", "ModelSize", "WireRequest", "dialect", "require"]

_ALL: tuple[Dialect, ...] = (
    GetimgDialect(),
    OpenAIDialect(),
    PlainOpenAIDialect(),
    SiliconFlowDialect(),
    StabilityDialect(),
    A1111Dialect(),
    ChatDialect(),
)
DIALECTS: dict[str, Dialect] = {each.name: each for each in _ALL}
"""Every dialect, by the name that ``--dialect`` calls it."""


def dialect(name: str) -> Dialect:
    """Find a dialect by name. ``UsageError``: no such dialect."""
    if name not in DIALECTS:
        raise UsageError(f"unknown dialect '{name}': choose one of {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]
