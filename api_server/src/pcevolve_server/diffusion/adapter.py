"""IP-Adapter: an image as part of the prompt.

Source: Ye et al. 2023, "IP-Adapter: Text Compatible Image Prompt Adapter" (arXiv 2308.06721).
"""

from dataclasses import dataclass
from typing import Any

import torch
from diffusers import DiffusionPipeline
from diffusers.models import ImageProjection
from PIL import Image

from pcevolve_server.diffusion.traits import is_doubled
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
        self, pipeline: DiffusionPipeline, recipe: Recipe, image: Image.Image | None
    ) -> dict[str, Any]:
        """Set the scale for the coming run and return the image embeddings that all its images get.

        Args:
            pipeline: The one that is about to run.
            recipe: Whether and how strongly the adapter counts.
            image: Its image prompt, if it does.
        """
        scale = 0.0 if image is None or recipe.adapter_scale is None else recipe.adapter_scale
        pipeline.set_ip_adapter_scale(scale)
        positive, negative = self._embed(pipeline, image or Image.new("RGB", (8, 8)))
        if not scale:
            positive = negative = torch.zeros_like(positive)
        # The pipeline splits them in two halves when it runs with classifier-free guidance.
        embeddings = torch.cat([negative, positive]) if is_doubled(pipeline, recipe.guidance) else positive
        return {"ip_adapter_image_embeds": [embeddings]}

    def _embed(self, pipeline: DiffusionPipeline, image: Image.Image) -> tuple[torch.Tensor, torch.Tensor]:
        """Return positive and negative embedding, ``(1, 1, ...)`` each."""
        (projection,) = pipeline.unet.encoder_hid_proj.image_projection_layers
        hidden = not isinstance(projection, ImageProjection)
        with torch.inference_mode():
            positive, negative = pipeline.encode_image([image], pipeline.device, 1, hidden)
        return positive[:, None], negative[:, None]
