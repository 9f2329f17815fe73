"""Remote APIs: one dialect per file, pure functions between public calls and wire bytes."""

from __future__ import annotations

from pcevolve_client.errors import UsageError
from pcevolve_client.providers.a1111 import A1111Dialect
from pcevolve_client.providers.dialect import Dialect
from pcevolve_client.providers.getimg import GetimgDialect
from pcevolve_client.providers.openai import OpenAIDialect, PlainOpenAIDialect
from pcevolve_client.providers.siliconflow import SiliconFlowDialect
from pcevolve_client.providers.stability import StabilityDialect

_ALL: tuple[Dialect, ...] = (
    GetimgDialect(),
    OpenAIDialect(),
    PlainOpenAIDialect(),
    SiliconFlowDialect(),
    StabilityDialect(),
    A1111Dialect(),
)
DIALECTS: dict[str, Dialect] = {each.name: each for each in _ALL}


def dialect(name: str) -> Dialect:
    """Find a dialect by name.

    Raises:
        UsageError: No such dialect.
    """
    if name not in DIALECTS:
        raise UsageError(f"unknown dialect '{name}': choose one of {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]
