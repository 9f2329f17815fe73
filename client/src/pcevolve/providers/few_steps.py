"""Settings of models that were distilled for few steps without guidance, by their names, for APIs that recommend none.

With the usual steps and guidance such a model draws burnt images, and no API says that it does. Sources: the cards of
SDXL-Turbo and Stable Diffusion 3.5 Large Turbo (Stability AI, whose API takes a guidance of 1 for it), of FLUX.1
[schnell], of SDXL-Lightning and Hyper-SD (ByteDance), of DMD2, of Z-Image-Turbo, and of the latent consistency models.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FEW: Final = re.compile(r"turbo|lightning|schnell|hyper[-_ ]?(?:sd|flux)|lcm|(?<![a-z])dmd2?(?![a-z])")
_MORE: Final = re.compile(r"z[-_ ]?image|flux.{0,8}(?:turbo|lightning|hyper)|hyper[-_ ]?flux")
"""Of which the usual number is eight."""
_STEPS: Final = re.compile(r"(?<!\d)(\d{1,2})[-_ ]?steps?(?![a-z])")
_MOST_STEPS: Final = 16


class FewSteps(NamedTuple):
    """What such a model is asked with; a guidance of 1 is none, whoever counts."""

    steps: int
    guidance: float


def find_few_steps(model: str) -> FewSteps | None:
    """The settings that a model's name asks for; None where it says nothing of few steps."""
    name = re.split(r"[/\\]", model)[-1].lower()
    if not _FEW.search(name):
        return None
    held = "flux" in name and "schnell" not in name
    return FewSteps(_steps(name), 3.5 if held else 1.5 if "lcm" in name else 1.0)


def _steps(name: str) -> int:
    stated = _STEPS.search(name)
    if stated and 1 <= int(stated[1]) <= _MOST_STEPS:
        return int(stated[1])
    return 8 if _MORE.search(name) else 4
