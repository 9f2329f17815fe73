"""Remote APIs: one dialect per file, pure functions between public calls and wire bytes. No sockets, no record."""

from __future__ import annotations

from pcevolve.public.dialects import find_abilities
from pcevolve.wire.providers.a1111 import A1111Dialect
from pcevolve.wire.providers.chat import ChatDialect
from pcevolve.wire.providers.dialect import Dialect, WireRequest
from pcevolve.wire.providers.getimg import GetimgDialect
from pcevolve.wire.providers.openai import OpenAIDialect, PlainOpenAIDialect
from pcevolve.wire.providers.siliconflow import SiliconFlowDialect
from pcevolve.wire.providers.stability import StabilityDialect

__all__ = ["DIALECTS", "Dialect", "WireRequest", "dialect"]

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
    return DIALECTS[find_abilities(name).name]
