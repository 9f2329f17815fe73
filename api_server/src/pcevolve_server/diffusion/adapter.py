"""IP-Adapter: an image as part of the prompt.

Source: Ye et al. 2023, "IP-Adapter: Text Compatible Image Prompt Adapter" (arXiv 2308.06721).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from diffusers import DiffusionPipeline
from diffusers.models import ImageProjection
from PIL import Image

from pcevolve_server import sources
from pcevolve_server.diffusion.traits import is_doubled
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.generator import Recipe
from pcevolve_server.networks.failures import LOAD_ERRORS
from pcevolve_server.settings import ModelSettings


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


def loaded(settings: ModelSettings, pipeline: DiffusionPipeline) -> Adapter | None:
    """Load the IP-Adapter that ``settings`` name into a pipeline; None if they name none.

    Raises:
        ModelLoadError: With what to do.
    """
    if not settings.adapter:
        return None
    if getattr(pipeline, "unet", None) is None:
        raise ModelLoadError(
            f"--ip-adapter is for models with a UNet; {settings.model} has none: leave it out"
        )
    try:
        source, subfolder, weights = _place(settings.adapter, "XL" in type(pipeline).__name__)
        pipeline.load_ip_adapter(
            source, subfolder=subfolder, weight_name=weights, local_files_only=settings.offline
        )
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.advice(settings.adapter, "IP-Adapter", error)) from error
    local = Path(settings.adapter).expanduser()
    return Adapter(local.resolve().stem if local.exists() else settings.adapter, settings.adapter_scale)


def _place(name: str, xl: bool) -> tuple[str, str, str]:
    """Return source, subfolder and weight file; ``name`` is a weight file, a directory or a hub id.

    A weight file has its ``image_encoder`` folder beside it; a directory has the layout of the authors'
    hub repository.
    """
    file = Path(name).expanduser()
    if file.is_file():
        return str(file.parent), "", file.name
    subfolder, weights = ("sdxl_models", "sdxl") if xl else ("models", "sd15")
    return sources.locate(name), subfolder, f"ip-adapter_{weights}.safetensors"
