"""Dialects by what each can be asked for, on which a plan depends; how each spells a request is in ``providers``."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from pcevolve.errors import UsageError
from pcevolve.public.modality import Kind
from pcevolve_shared import limits

Scheme = Literal["Bearer", "Basic"]


@dataclass(frozen=True)
class Abilities:
    """What an API can be asked for by its dialect.

    Attributes:
        place: Where its dialect is among ``wire.providers``: module and class.
        capabilities: Of ``create``, ``vary``, ``strength`` of what is varied, ``seed``, ``steps``, ``guidance``,
            ``negative_prompt``, ``sampler``, ``size``, ``batch``, ``adapter``, and for texts ``tokens``, ``fields``.
        most: Images that one request may ask for.
        scheme: How the key is shown; with ``Basic`` it is ``user:password``.
    """

    name: str
    place: str
    capabilities: frozenset[str]
    most: int = 1
    makes: Kind = "image"
    scheme: Scheme = "Bearer"


_DIFFUSION: Final = frozenset(
    ["create", "vary", "strength", "seed", "batch", "size", "steps", "guidance", "negative_prompt", "sampler"]
)
"""Of an API that says all that a diffusion model can be asked."""
_CHAT: Final = frozenset(["create", "vary", "strength", "seed", "batch", "tokens", "fields"])
_PLAIN: Final = frozenset({"create", "vary", "size", "batch"})
_SILICONFLOW: Final = frozenset(
    ["create", "vary", "seed", "steps", "guidance", "negative_prompt", "size", "batch"]
)
_STABILITY: Final = frozenset(["create", "vary", "strength", "seed", "guidance", "negative_prompt"])
_ENDPOINT: Final = frozenset({"create", "seed", "steps", "guidance", "negative_prompt", "size"})
_ALL: Final = (
    Abilities("getimg", "getimg:GetimgDialect", _DIFFUSION | {"adapter"}, most=limits.MAX_BATCH),
    Abilities("openai", "openai:OpenAIDialect", _DIFFUSION - {"sampler"}, most=10),
    Abilities("openai-plain", "openai:PlainOpenAIDialect", _PLAIN, most=10),
    Abilities("siliconflow", "siliconflow:SiliconFlowDialect", _SILICONFLOW, most=4),
    Abilities("stability", "stability:StabilityDialect", _STABILITY),
    Abilities("huggingface", "huggingface:HuggingFaceDialect", _ENDPOINT),
    Abilities("a1111", "a1111:A1111Dialect", _DIFFUSION, most=8, scheme="Basic"),
    Abilities("chat", "chat:ChatDialect", _CHAT, most=limits.MAX_COMPLETIONS, makes="text"),
)
ABILITIES: Final = {each.name: each for each in _ALL}
"""Every dialect, by the name that ``--dialect`` calls it; a new one has its line here, and nowhere else."""


def find_abilities(name: str) -> Abilities:
    """Find a dialect by name. ``UsageError``: no such dialect."""
    if name not in ABILITIES:
        raise UsageError(f"unknown dialect '{name}': choose one of {', '.join(sorted(ABILITIES))}")
    return ABILITIES[name]


def require(spoken: Abilities, needed: AbstractSet[str]) -> None:
    """Refuse a run that its dialect cannot carry out, before anything is paid (``UsageError``)."""
    missing = ", ".join(sorted(needed - spoken.capabilities))
    if missing:
        raise UsageError(
            f"dialect '{spoken.name}' lacks {missing}, which this run needs: "
            "choose another --dialect, --set method.vary_by=prompt, which sends no image back, or --method t2i, which "
            "needs no variations; and leave out the options that it does not support"
        )
