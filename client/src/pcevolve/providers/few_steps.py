"""Settings of models that were distilled for few steps without guidance, by their names, for APIs that recommend none.

With the usual steps and guidance such a model draws burnt images, and no API says that it does. Sources: the cards of
SDXL-Turbo and Stable Diffusion 3.5 Large Turbo (Stability AI, whose API takes a guidance of 1 for it), of FLUX.1
[schnell], of SDXL-Lightning and Hyper-SD (ByteDance), of DMD2, of Z-Image-Turbo, and of the latent consistency models.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pcevolve_shared.few_steps import is_few_step, steps_in

_ALSO: Final = re.compile("schnell|lcm")
"""Of whose names the server has no need: their files tell."""
_MORE: Final = re.compile(r"z[-_ ]?image|flux.{0,8}(?:turbo|lightning|hyper)|hyper[-_ ]?flux")
"""Of which the usual number is eight."""


class FewSteps(NamedTuple):
    """What such a model is asked with; a guidance of 1 is none, whoever counts."""

    steps: int
    guidance: float


def find_few_steps(model: str) -> FewSteps | None:
    """The settings that a model's name asks for; None where it says nothing of few steps."""
    name = find_own_name(model)
    if not (is_few_step(name) or _ALSO.search(name)):
        return None
    held = "flux" in name and "schnell" not in name
    steps = steps_in(name) or (8 if _MORE.search(name) else 4)
    return FewSteps(steps, 3.5 if held else 1.5 if "lcm" in name else 1.0)


def find_own_name(model: str) -> str:
    """A model's name without its publisher or folder, in small letters."""
    return re.split(r"[/\\]", model)[-1].lower()
