"""What a loaded model tells about itself."""

from __future__ import annotations

from diffusers import DiffusionPipeline, SchedulerMixin
from torch import nn

from pcevolve_server import sources
from pcevolve_server.diffusion import presets, traits
from pcevolve_server.diffusion.adapter import Adapter
from pcevolve_server.networks.memory import weight
from pcevolve_server.settings import ModelSettings
from pcevolve_shared import limits
from pcevolve_shared.wire import ModelInfo, Pipeline


def info(
    settings: ModelSettings,
    pipeline: DiffusionPipeline,
    adapter: Adapter | None,
    scheduler: SchedulerMixin,
    solver: str | None = None,
) -> ModelInfo:
    """Name, sizes, schedulers, adapters, and what the model is best asked with.

    Args:
        settings: What it was loaded by.
        pipeline: Text-to-image.
        adapter: None if no IP-Adapter is loaded.
        scheduler: That it runs with unless a request names another.
        solver: Its name; None if the model brought it along.
    """
    identity = sources.model_id(settings)
    recommended = presets.recommended(settings.model, pipeline, scheduler)
    pipelines: tuple[Pipeline, ...] = ("text-to-image", "image-to-image")
    return ModelInfo(
        id=identity,
        name=identity.rsplit("/", 1)[-1],
        family=traits.family(pipeline),
        pipelines=(*pipelines, "ip-adapter") if adapter else pipelines,
        base_resolution=traits.base_resolution(pipeline),
        size_multiple=traits.size_multiple(pipeline),
        schedulers=traits.scheduler_names(pipeline, scheduler),
        adapters=(adapter.id,) if adapter else (),
        max_images=limits.MAX_BATCH,
        negative_prompts=traits.has_negative_prompts(pipeline),
        recommended=recommended.model_copy(update={"scheduler": solver}),
    )


def weight_of(pipeline: DiffusionPipeline) -> int:
    """Bytes of the weights of all networks in a pipeline."""
    return sum(weight(part) for part in pipeline.components.values() if isinstance(part, nn.Module))
