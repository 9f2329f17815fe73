"""Recognize models that were distilled for few steps without guidance. Only their names show it, not their files.

Sources: the cards of SD-Turbo, SDXL-Turbo and Stable Diffusion 3.5 Large Turbo (Stability AI), of
SDXL-Lightning and Hyper-SD (ByteDance), of DMD2 (Yin et al. 2024, arXiv 2405.14867), of FLUX.1-Turbo-Alpha
(Alimama), of Qwen-Image-Lightning (ModelTC), and of the latent consistency LoRAs (Luo et al. 2023, arXiv
2311.05556).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from diffusers import EulerDiscreteScheduler, SchedulerMixin

from pcevolve_server import sources
from pcevolve_server.model_settings import ModelSettings

_FEW: Final = re.compile(r"turbo|lightning|hyper[-_ ]?(?:sd|flux)|(?<![a-z])dmd2?(?![a-z])")
_STEPS: Final = re.compile(r"(?<!\d)(\d{1,2})[-_ ]?steps?(?![a-z])")
_MOST_STEPS: Final = 16
_MATCHED: Final = re.compile(r"(?<![a-z])dmd2?(?![a-z])")
"""Models that run with the scheduler of consistency models."""
_CONSISTENT: Final = re.compile("lcm")
_NAMELESS: Final = frozenset({"pytorch_lora_weights", "adapter_model", "diffusion_pytorch_model"})
"""File names that do not identify a model."""


def is_few_step(name: str) -> bool:
    """True if a name, in lower case, belongs to a model or LoRA for few steps without guidance."""
    return _FEW.search(name) is not None


def steps_in(name: str) -> int | None:
    """Return the number of steps in a name such as ``sdxl_lightning_8step``. Return None if the name has no number."""
    found = _STEPS.search(name)
    return int(found[1]) if found and 1 <= int(found[1]) <= _MOST_STEPS else None


def is_consistent(name: str) -> bool:
    """True if a name belongs to a latent consistency model or LoRA."""
    return _CONSISTENT.search(name) is not None


def is_matched(name: str) -> bool:
    """True if a name belongs to a model that was distilled by matching distributions (DMD2)."""
    return _MATCHED.search(name) is not None


def names_of(settings: ModelSettings) -> tuple[str, ...]:
    """Return the names that can show how a model was distilled, in lower case: the names of its LoRAs, and its own.

    Names of folders and publishers are left out.
    """
    return (*_names_of_loras(settings), _last(settings.model).lower())


def _names_of_loras(settings: ModelSettings) -> list[str]:
    return [_last(each.source).lower() for each in settings.loras if each.scale]


def _last(source: str) -> str:
    path = Path(source).expanduser()
    if path.is_dir():
        return sources.folder_name(path.resolve()).rpartition("/")[2]
    if path.is_file():
        return _last(str(path.parent)) if path.stem in _NAMELESS else path.stem
    return path.name


def begin_at_noise(scheduler: SchedulerMixin, settings: ModelSettings) -> SchedulerMixin:
    """Return the scheduler of a model with LoRAs. A LoRA for few steps was distilled to begin at pure noise.

    The schedule of an ordinary model mostly begins a little later, and with few steps the difference is visible.
    """
    few = any(is_few_step(each) and not is_matched(each) for each in _names_of_loras(settings))
    if not few or getattr(scheduler, "betas", None) is None:
        return scheduler
    return EulerDiscreteScheduler.from_config(scheduler.config, timestep_spacing="trailing")
