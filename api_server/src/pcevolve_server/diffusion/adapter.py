"""IP-Adapter: an image as part of the prompt.

Source: Ye et al. 2023, "IP-Adapter: Text Compatible Image Prompt Adapter" (arXiv 2308.06721).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from diffusers import DiffusionPipeline
from diffusers.models import ImageProjection
from PIL import Image

from pcevolve_server.generator import Recipe


@dataclass(frozen=True)
class Adapter:
    """An adapter whose weights sit in the UNet that both pipelines share.

    Once loaded, the UNet asks for image embeddings on every run; runs without the adapter get zeros at
    scale zero, which leaves the text's cross-attention alone.

    Attributes:
        id: What callers write in ``adapter``.
        scale: Weight of the image prompt where the caller names none.
    """

    id: str
    scale: float

    def arguments(
        self, pipeline: DiffusionPipeline, recipe: Recipe, images: Sequence[Image.Image], count: int
    ) -> dict[str, Any]:
        """Set the scale for the coming run and return the image embeddings for its ``count`` images."""
        used = recipe.adapter_scale is not None
        pipeline.set_ip_adapter_scale(recipe.adapter_scale if used else 0.0)
        if used:
            positive, negative = self._embed(pipeline, images)
        else:
            blank, _ = self._embed(pipeline, [Image.new("RGB", (8, 8))])
            positive = negative = torch.zeros_like(blank).repeat_interleave(count, dim=0)
        # The pipeline splits them in two halves when it runs with classifier-free guidance.
        embeddings = torch.cat([negative, positive]) if recipe.guidance > 1 else positive
        return {"ip_adapter_image_embeds": [embeddings]}

    def _embed(
        self, pipeline: DiffusionPipeline, images: Sequence[Image.Image]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return positive and negative embeddings, ``(images, 1, ...)`` each."""
        (projection,) = pipeline.unet.encoder_hid_proj.image_projection_layers
        hidden = not isinstance(projection, ImageProjection)
        with torch.inference_mode():
            positive, negative = pipeline.encode_image(list(images), pipeline.device, 1, hidden)
        return positive[:, None], negative[:, None]
