"""What sets one class of pipelines apart from another, told by the pipelines themselves."""

from __future__ import annotations

import inspect

from diffusers import DiffusionPipeline, ModelMixin, SchedulerMixin
from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING

from pcevolve_server.diffusion import schedulers
from pcevolve_server.errors import ModelLoadError
from pcevolve_shared import limits
from pcevolve_shared.wire import Resolution

_CALLED_WITH = {
    "prompt",
    "num_inference_steps",
    "guidance_scale",
    "generator",
    "output_type",
    "callback_on_step_end",
}
_VARIED_WITH = _CALLED_WITH | {"image", "strength"}


def check(text_to_image: DiffusionPipeline, image_to_image: DiffusionPipeline) -> None:
    """Refuse a pair of pipelines that could not do what the API promises.

    Raises:
        ModelLoadError: With what is missing.
    """
    for pipeline, needed in ((text_to_image, _CALLED_WITH), (image_to_image, _VARIED_WITH)):
        if missing := sorted(each for each in needed if not takes(pipeline, each)):
            raise ModelLoadError(f"{type(pipeline).__name__} takes no {', '.join(missing)}")
    if not hasattr(text_to_image, "vae") or not any(hasattr(text_to_image, each) for each in _DENOISERS):
        raise ModelLoadError(f"{type(text_to_image).__name__} is no latent diffusion model")


def takes(pipeline: DiffusionPipeline, argument: str) -> bool:
    """Whether a call of the pipeline may name ``argument``; what it would swallow unread does not count."""
    return argument in inspect.signature(type(pipeline).__call__).parameters


def sides(pipeline: DiffusionPipeline, width: int, height: int) -> dict[str, int]:
    """Width and height, for pipelines that would else take their own; the others take the input's."""
    return {"width": width, "height": height} if takes(pipeline, "width") else {}


def family(pipeline: DiffusionPipeline) -> str:
    """The name of the pipeline's class among diffusers' text-to-image models, such as ``stable-diffusion-xl``."""
    names = (name for name, kind in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.items() if kind is type(pipeline))
    return next(names, type(pipeline).__name__)


def is_classic(pipeline: DiffusionPipeline) -> bool:
    """Whether it is Stable Diffusion 1 or 2: one text encoder, and a UNet that nothing else is prepared for."""
    return family(pipeline) == "stable-diffusion"


_DENOISERS = ("unet", "transformer")


def denoiser(pipeline: DiffusionPipeline) -> ModelMixin:
    """What does nearly all of the work: a UNet or a transformer."""
    return next(found for each in _DENOISERS if (found := getattr(pipeline, each, None)) is not None)


def recasts_autoencoder(pipeline: DiffusionPipeline) -> bool:
    """Whether the pipelines bring their autoencoder to float32 now and then: SDXL's overflows in float16."""
    return hasattr(pipeline, "upcast_vae")


def has_negative_prompts(pipeline: DiffusionPipeline) -> bool:
    """Whether a negative prompt tells beside ``guidance``; models with a second scale for it do without it."""
    return takes(pipeline, "negative_prompt") and not takes(pipeline, "true_cfg_scale")


def is_doubled(pipeline: DiffusionPipeline, guidance: float) -> bool:
    """Whether an image takes two rows of the denoiser's batch; where guidance is an input of the UNet, it takes one."""
    return guidance > 1 and not denoiser(pipeline).config.get("time_cond_proj_dim")


def scheduler_names(pipeline: DiffusionPipeline, scheduler: SchedulerMixin) -> tuple[str, ...]:
    """Schedulers that the pipeline may run with besides its own."""
    # A latent consistency pipeline reads what only its own kind of scheduler returns.
    own_alone = "LatentConsistency" in type(pipeline).__name__ or not schedulers.is_discrete(scheduler)
    return () if own_alone else tuple(schedulers.SCHEDULERS)


def size_multiple(pipeline: DiffusionPipeline) -> int:
    """What width and height must be multiples of: the autoencoder's factor, times the patches of a transformer."""
    factor: int = pipeline.vae_scale_factor
    patches: int = denoiser(pipeline).config.get("patch_size") or 1
    packed: int = (
        pipeline.image_processor.config.vae_scale_factor
    )  # larger than ``factor`` where latents are packed
    return max(limits.SIZE_STEP, packed, factor * patches)


def base_resolution(pipeline: DiffusionPipeline) -> Resolution:
    """The size that the model was trained for, in pixels."""
    sample = denoiser(pipeline).config.get("sample_size") or pipeline.default_sample_size
    height, width = sample if isinstance(sample, list | tuple) else (sample, sample)
    factor = pipeline.vae_scale_factor
    return Resolution(width=width * factor, height=height * factor)
