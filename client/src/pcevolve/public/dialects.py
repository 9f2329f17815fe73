"""The capabilities of each dialect, on which a plan depends. The modules in ``wire.providers`` spell the requests."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from pcevolve.errors import UsageError
from pcevolve.public.modality import Kind
from pcevolve_shared import limits

Scheme = Literal["Bearer", "Basic", "api-key"]
"""The word before the key in the ``Authorization`` header, or the name of a header that holds only the key."""


@dataclass(frozen=True)
class Abilities:
    """The capabilities of an API in one dialect.

    Attributes:
        place: Module and class of the dialect in ``wire.providers``.
        capabilities: A subset of ``create``, ``vary``, ``strength`` (of variations), ``seed``, ``steps``,
            ``guidance``, ``negative_prompt``, ``sampler``, ``size``, ``batch``, ``adapter``, ``workflow``; and for
            texts ``tokens`` and ``fields``.
        most: Largest number of images per request.
        scheme: Authentication scheme of the key; with ``Basic`` the key is ``user:password``.
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
"""All settings of a diffusion model."""
_CHAT: Final = frozenset(["create", "vary", "strength", "seed", "batch", "tokens", "fields"])
_PLAIN: Final = frozenset({"create", "vary", "size", "batch"})
_SILICONFLOW: Final = frozenset(
    ["create", "vary", "seed", "steps", "guidance", "negative_prompt", "size", "batch"]
)
_STABILITY: Final = frozenset(["create", "vary", "strength", "seed", "guidance", "negative_prompt"])
_ENDPOINT: Final = frozenset({"create", "seed", "steps", "guidance", "negative_prompt", "size"})
_WORKFLOW: Final = frozenset({"create", "vary", "strength", "seed", "workflow"})
_ALL: Final = (
    Abilities("getimg", "getimg:GetimgDialect", _DIFFUSION | {"adapter"}, most=limits.MAX_BATCH),
    Abilities("openai", "openai:OpenAIDialect", _DIFFUSION - {"sampler"}, most=10),
    Abilities("openai-plain", "openai:PlainOpenAIDialect", _PLAIN, most=10),
    Abilities("azure", "azure:AzureDialect", _PLAIN, most=10, scheme="api-key"),
    Abilities("siliconflow", "siliconflow:SiliconFlowDialect", _SILICONFLOW, most=4),
    Abilities("stability", "stability:StabilityDialect", _STABILITY),
    Abilities("huggingface", "huggingface:HuggingFaceDialect", _ENDPOINT),
    Abilities("replicate", "replicate:ReplicateDialect", _DIFFUSION - {"sampler"}, most=4),
    Abilities("comfyui", "comfyui:ComfyUIDialect", _WORKFLOW),
    Abilities("a1111", "a1111:A1111Dialect", _DIFFUSION, most=8, scheme="Basic"),
    Abilities("chat", "chat:ChatDialect", _CHAT, most=limits.MAX_COMPLETIONS, makes="text"),
)
ABILITIES: Final = {each.name: each for each in _ALL}
"""Every dialect, by its name for ``--dialect``. A new dialect is added here and nowhere else."""


def find_abilities(name: str) -> Abilities:
    """Return the capabilities of a dialect (``UsageError`` if its name is unknown)."""
    if name not in ABILITIES:
        raise UsageError(f"unknown dialect '{name}': choose one of {', '.join(sorted(ABILITIES))}")
    return ABILITIES[name]


def require(abilities: Abilities, needed: AbstractSet[str]) -> None:
    """Refuse a run that its dialect cannot carry out, before anything is paid for (``UsageError``)."""
    missing = ", ".join(sorted(needed - abilities.capabilities))
    if missing:
        raise UsageError(
            f"dialect '{abilities.name}' lacks {missing}, which this run needs: "
            "choose another --dialect, --set method.vary_by=prompt, which sends no image back, or --method t2i, which "
            "needs no variations; and leave out the options that it does not support"
        )
