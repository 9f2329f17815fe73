"""Guidance in an interval of the noise levels alone.

At the noisiest levels guidance drives all images of a prompt to one, and at the least noisy ones it changes little, at
the price of a second run of the denoiser (Kynkäänniemi et al., "Applying guidance in a limited interval improves sample
and distribution quality in diffusion models", 2024).
"""

from dataclasses import dataclass

import torch
from diffusers import DiffusionPipeline
from torch import Tensor

from pcevolve_server.diffusion import traits
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import WHOLE, ModelSettings


@dataclass(frozen=True)
class Interval:
    """Levels from ``low`` to ``high`` as shares of the noise schedule, 1 being pure noise; both ends belong to it."""

    low: float
    high: float

    def has(self, level: float) -> bool:
        """Return whether a step that begins at a level is guided."""
        return self.low <= level <= self.high


@dataclass(frozen=True)
class Switch:
    """Turns the guidance of one run of a Stable Diffusion pipeline on and off between its steps.

    Attributes:
        interval: Where it is on.
        guidance: Its scale there.
        levels: Of the whole noise schedule, mostly 1000.
        prompt_embeds: Embeddings of the prompts, ``(images, tokens, dimension)``.
        negative_prompt_embeds: Those of the negative prompts.
    """

    interval: Interval
    guidance: float
    levels: int
    prompt_embeds: Tensor
    negative_prompt_embeds: Tensor

    def scale(self, timestep: float | Tensor) -> float:
        """The guidance of a step that begins at a timestep; at 1 there is none."""
        return self.guidance if self.interval.has((float(timestep) + 1) / self.levels) else 1.0

    def turn(self, pipeline: DiffusionPipeline, step: int) -> dict[str, Tensor]:
        """Set the guidance of the step after ``step``, and return the embeddings that it reads."""
        timesteps = pipeline.scheduler.timesteps
        # The last step has none after it.
        if step + 1 >= len(timesteps):
            return {}
        # The pipeline has no setter; its loop asks this attribute before each step.
        pipeline._guidance_scale = self.scale(timesteps[step + 1])
        if not pipeline.do_classifier_free_guidance:
            return {"prompt_embeds": self.prompt_embeds}
        return {"prompt_embeds": torch.cat([self.negative_prompt_embeds, self.prompt_embeds])}


def choose_interval(settings: ModelSettings, pipeline: DiffusionPipeline) -> Interval | None:
    """The interval that ``settings`` name; None for all noise levels.

    Raises:
        ModelLoadError: The model is of another kind.
    """
    if settings.guidance_interval == WHOLE:
        return None
    if not traits.is_classic(pipeline):
        raise ModelLoadError(
            f"--guidance-interval is for Stable Diffusion 1 and 2; {settings.model} is another kind: leave it out"
        )
    return Interval(*settings.guidance_interval)
