"""What a text encoder makes of a prompt and an autoencoder of an image: once for each, always one at a time.

Whatever runs one at a time cannot depend on its companions; and the variations of one prototype share both encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from diffusers import DiffusionPipeline, StableDiffusionImg2ImgPipeline, StableDiffusionPipeline
from PIL import Image
from torch import Tensor

_PROMPTS = 256  # remembered
_CHANNELS = 4  # by which the pipeline knows latents from pixels

Prompt = Callable[[str], Tensor]


def prompts_of(pipeline: DiffusionPipeline) -> Prompt | None:
    """A function from text to its embedding ``(1, tokens, dimension)``; None for pipelines of several encoders."""
    if type(pipeline) is not StableDiffusionPipeline:
        return None

    @lru_cache(_PROMPTS)
    def encoded(prompt: str) -> Tensor:
        positive: Tensor
        # What is kept would otherwise keep all that it was computed from, for gradients that nobody asks for.
        with torch.inference_mode():
            positive, _ = pipeline.encode_prompt(prompt, pipeline.device, 1, False)
        return positive

    return encoded


def latents_of(
    pipeline: DiffusionPipeline, images: Sequence[Image.Image], generators: Sequence[torch.Generator]
) -> Tensor | None:
    """Latents ``(images, channels, height, width)`` drawn as the pipeline draws them; None where it has to itself.

    Args:
        pipeline: Image-to-image.
        images: One for each latent; equal ones are encoded once.
        generators: Of the draw from each image's distribution of latents; the pipeline goes on with them.
    """
    config = pipeline.vae.config
    if type(pipeline) is not StableDiffusionImg2ImgPipeline or config.latent_channels != _CHANNELS:
        return None
    seen: dict[bytes, Any] = {}
    drawn = []
    for image, generator in zip(images, generators, strict=True):
        key = repr(image.size).encode() + image.tobytes()
        if key not in seen:
            seen[key] = pipeline.vae.encode(_pixels(pipeline, image)).latent_dist
        drawn.append(seen[key].sample(generator))
    latents: Tensor = torch.cat(drawn) * config.scaling_factor
    return latents


def _pixels(pipeline: DiffusionPipeline, image: Image.Image) -> Tensor:
    prepared: Tensor = pipeline.image_processor.preprocess(image)
    return prepared.to(pipeline.device, pipeline.vae.dtype)
