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
        capabilities: Of ``create``, ``vary``, ``strength`` of what is varied, ``seed``, ``steps``, ``guidance``,
            ``negative_prompt``, ``sampler``, ``size``, ``batch``, ``adapter``, and for texts ``tokens``, ``fields``.
        most: Images that one request may ask for.
        scheme: How the key is shown; with ``Basic`` it is ``user:password``.
    """

    name: str
    capabilities: frozenset[str]
    most: int = 1
    makes: Kind = "image"
    scheme: Scheme = "Bearer"


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Advice:
    """A provider's advice on how its model is best asked; a wrong word costs quality and nothing more.

    Below strength ``low`` a variation hardly differs, and above ``high`` it keeps hardly anything.

    Attributes:
        domains: What the model draws, in words, and nothing else; empty where nothing is known.
    """

    steps: int
    guidance: float
    low: float
    high: float
    domains: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For people."""
        return f"{self.steps} steps, guidance {self.guidance:g}, strength {self.low:g} to {self.high:g}"


_DIFFUSION: Final = frozenset(
    ["create", "vary", "strength", "seed", "batch", "size", "steps", "guidance", "negative_prompt", "sampler"]
)
"""Of an API that says all that a diffusion model can be asked."""
_CHAT: Final = frozenset(["create", "vary", "strength", "seed", "batch", "tokens", "fields"])
_SILICONFLOW: Final = frozenset(
    ["create", "vary", "seed", "steps", "guidance", "negative_prompt", "size", "batch"]
)
_STABILITY: Final = frozenset(["create", "vary", "strength", "seed", "guidance", "negative_prompt"])
_ALL: Final = (
    Abilities("getimg", _DIFFUSION | {"adapter"}, most=limits.MAX_BATCH),
    Abilities("openai", _DIFFUSION - {"sampler"}, most=10),
    Abilities("openai-plain", frozenset({"create", "vary", "size", "batch"}), most=10),
    Abilities("siliconflow", _SILICONFLOW, most=4),
    Abilities("stability", _STABILITY),
    Abilities("a1111", _DIFFUSION, most=8, scheme="Basic"),
    Abilities("chat", _CHAT, most=limits.MAX_COMPLETIONS, makes="text"),
)
ABILITIES: Final = {each.name: each for each in _ALL}
"""Every dialect, by the name that ``--dialect`` calls it."""


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
