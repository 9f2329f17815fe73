"""Traits of a loaded pipeline: abilities of its class, recommended settings, and its description for callers.

Sources of schedulers: Lu et al. 2022, "DPM-Solver++: Fast Solver for Guided Sampling of Diffusion Probabilistic
Models" (arXiv 2211.01095). The second-order solver needs 20 to 25 steps for a result that takes DDIM, Euler and PNDM
50 steps. This holds with the noise levels of Karras et al. 2022 (arXiv 2206.00364), and not without them
(``benchmarks/solvers/known.py``).
"""

from __future__ import annotations

import inspect
from typing import Final

from diffusers import DiffusionPipeline, ModelMixin, SchedulerMixin
from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING
from torch import nn

from pcevolve_server import sources
from pcevolve_server.diffusion import distilled, families, schedulers
from pcevolve_server.diffusion.families import family_of
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.networks import weight
from pcevolve_server.sources import BUNDLED
from pcevolve_shared import limits
from pcevolve_shared.bundled import DOMAINS
from pcevolve_shared.wire import ModelInfo, Pipeline, Recommended, Resolution

_SECOND_ORDER: Final = "dpmpp_2m_karras"
_CONSISTENT: Final = "lcm"
_CONSISTENT_SCHEDULERS: Final = {"LCMScheduler", "TCDScheduler"}
# These slower solvers of the same equation are replaced. Other schedulers were chosen for other properties.
_SLOWER: Final = {
    "DDIMScheduler",
    "DDPMScheduler",
    "EulerDiscreteScheduler",
    "LMSDiscreteScheduler",
    "PNDMScheduler",
}


def recommend(settings: ModelSettings, pipeline: DiffusionPipeline, scheduler: SchedulerMixin) -> Recommended:
    """Return recommended settings for a model.

    Distilled models are recognized by their scheduler or, because files contain no other sign, by their names. A
    wrong guess costs only quality, and a request may give other settings.
    """
    if settings.model == BUNDLED:
        return families.BUNDLED
    names = distilled.names_of(settings)
    unet, transformer = getattr(pipeline, "unet", None), getattr(pipeline, "transformer", None)
    # Flux: dev has guidance embeddings, schnell has none.
    embeds = None if transformer is None else transformer.config.get("guidance_embeds")
    own = family_of(type(pipeline).__name__)
    for name in names:
        if distilled.is_consistent(name) and embeds is None and not _takes_guidance(unet):
            return families.CONSISTENCY_LORA
        if distilled.is_few_step(name):
            usual = families.TURBO if transformer is None else families.SHORT_FLOW
            best = own.few_steps or (families.HELD_FLOW if embeds else usual)
            return best.model_copy(update={"steps": distilled.steps_in(name) or best.steps})
    if _takes_guidance(unet):
        return families.CONSISTENCY
    if type(scheduler).__name__ in _CONSISTENT_SCHEDULERS:
        return families.CONSISTENCY_LORA
    if own.recommended is not None:
        return own.recommended
    if embeds is not None:
        return families.GUIDED_FLOW if embeds else families.SHORT_FLOW
    if type(scheduler).__name__.startswith("FlowMatch"):
        return _flow(transformer)
    return families.DIFFUSION


def _takes_guidance(unet: ModelMixin | None) -> bool:
    """True for a latent consistency model's UNet, which has the guidance as an input."""
    return unet is not None and bool(unet.config.get("time_cond_proj_dim"))


def _flow(transformer: ModelMixin | None) -> Recommended:
    if transformer is None or not transformer.config.get("qk_norm"):
        return families.FLOW
    return families.FLOW_MEDIUM if transformer.config.get("dual_attention_layers") else families.FLOW_LARGE


def solver(settings: ModelSettings, pipeline: DiffusionPipeline) -> str | None:
    """Return the name of a model's recommended scheduler. None: the model's own.

    Few-step models were distilled for their own scheduler. Models with a "trailing" schedule, which begins at pure
    noise, most likely were, too. The second-order solver needs a logarithm that does not exist for a schedule without a
    signal at its end.
    """
    own = pipeline.scheduler
    best = recommend(settings, pipeline, own)
    matched = any(map(distilled.is_matched, distilled.names_of(settings)))
    if best is families.CONSISTENCY_LORA or matched:
        return None if type(own).__name__ in _CONSISTENT_SCHEDULERS else _CONSISTENT
    special = own.config.get("timestep_spacing") == "trailing" or own.config.get("rescale_betas_zero_snr")
    slower = best in (families.DIFFUSION, families.XL) and type(own).__name__ in _SLOWER
    return _SECOND_ORDER if slower and not special else None


_CALLED_WITH = {
    "prompt",
    "num_inference_steps",
    "guidance_scale",
    "generator",
    "output_type",
    "callback_on_step_end",
}
_EDITED_WITH = _CALLED_WITH | {"image"}
_VARIED_WITH = _EDITED_WITH | {"strength"}


def is_edit(pipeline: DiffusionPipeline) -> bool:
    """True if the model edits an image according to a prompt, to a degree that cannot be set."""
    return bool(family_of(type(pipeline).__name__).draws)


def spell_guidance(pipeline: DiffusionPipeline, guidance: float) -> dict[str, float]:
    """Return the guidance as a keyword argument of the pipeline's call. Its name depends on the family."""
    return {family_of(type(pipeline).__name__).guidance: guidance}


def check(text_to_image: DiffusionPipeline, image_to_image: DiffusionPipeline) -> None:
    """Refuse a pair of pipelines that do not support the API's promises.

    Raises:
        ModelLoadError: The pipelines lack arguments. The message names the arguments.
    """
    varied_with = _EDITED_WITH if is_edit(image_to_image) else _VARIED_WITH
    for pipeline, needed in ((text_to_image, _CALLED_WITH), (image_to_image, varied_with)):
        missing = sorted(each for each in needed if not takes(pipeline, each))
        if missing == ["strength"]:
            raise ModelLoadError(
                f"{type(pipeline).__name__} varies images in a way that this server does not support;"
                f" this server supports {families.SERVED_EDITS}"
            )
        if missing:
            raise ModelLoadError(f"{type(pipeline).__name__} does not accept {', '.join(missing)}")
    if not hasattr(text_to_image, "vae") or not any(hasattr(text_to_image, each) for each in _DENOISERS):
        raise ModelLoadError(f"{type(text_to_image).__name__} is not a latent diffusion model")
    if not hasattr(text_to_image, "unet") or is_edit(image_to_image):
        return
    taken, made = text_to_image.unet.config.in_channels, text_to_image.vae.config.latent_channels
    if taken != made:
        raise ModelLoadError(
            f"its UNet takes {taken} channels, not {made}, so it fills holes in images or edits them,"
            " and makes no image from a prompt alone: serve its base model instead"
        )


def takes(pipeline: DiffusionPipeline, argument: str) -> bool:
    """True if a call of the pipeline uses ``argument``. Arguments that it accepts and ignores do not count."""
    return argument in inspect.signature(type(pipeline).__call__).parameters


def sides(pipeline: DiffusionPipeline, width: int, height: int) -> dict[str, int]:
    """Return width and height as arguments of a pipeline's call, or nothing if the pipeline uses the input's size."""
    return {"width": width, "height": height} if takes(pipeline, "width") else {}


def family(pipeline: DiffusionPipeline) -> str:
    """Return the key of the pipeline's class among diffusers' text-to-image models, such as ``stable-diffusion-xl``."""
    names = (
        name for name, kind in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.items() if kind in type(pipeline).__mro__
    )
    return next(names, type(pipeline).__name__)


_DENOISERS = ("unet", "transformer")


def denoiser(pipeline: DiffusionPipeline) -> ModelMixin:
    """Return the network that does nearly all of the work: a UNet or a transformer."""
    return next(found for each in _DENOISERS if (found := getattr(pipeline, each, None)) is not None)


def has_negative_prompts(pipeline: DiffusionPipeline) -> bool:
    """True if a negative prompt has an effect with ``guidance``. It has none in models with a separate scale for it."""
    return takes(pipeline, "negative_prompt") and (
        spell_guidance(pipeline, 1.0).keys() == {"true_cfg_scale"} or not takes(pipeline, "true_cfg_scale")
    )


def is_doubled(pipeline: DiffusionPipeline, guidance: float) -> bool:
    """True if an image takes two rows of a batch. False if guidance is an input of the UNet."""
    return guidance > 1 and not denoiser(pipeline).config.get("time_cond_proj_dim")


def scheduler_names(pipeline: DiffusionPipeline, scheduler: SchedulerMixin) -> tuple[str, ...]:
    """Return the schedulers with which the pipeline may run, in addition to its own."""
    own_alone = family_of(type(pipeline).__name__).own_scheduler or not schedulers.is_discrete(scheduler)
    return () if own_alone else schedulers.names_for(scheduler)


def size_multiple(pipeline: DiffusionPipeline) -> int:
    """Return the number of pixels of which width and height must be multiples.

    It is the autoencoder's factor, times a transformer's patch size.
    """
    factor: int = pipeline.vae_scale_factor
    patches: int = denoiser(pipeline).config.get("patch_size") or 1
    packed: int = (
        pipeline.image_processor.config.vae_scale_factor
    )  # larger than ``factor`` where latents are packed
    return max(limits.SIZE_STEP, packed, factor * patches)


_MEGAPIXEL_LATENTS: Final = 128
"""Side of the latents for models that state no size. All of these models draw about a megapixel."""


def base_resolution(pipeline: DiffusionPipeline) -> Resolution:
    """Return the size for which the model was trained, in pixels."""
    usual = getattr(pipeline, "default_sample_size", _MEGAPIXEL_LATENTS)
    sample = denoiser(pipeline).config.get("sample_size") or usual
    height, width = sample if isinstance(sample, list | tuple) else (sample, sample)
    factor = pipeline.vae_scale_factor
    return Resolution(width=width * factor, height=height * factor)


def describe(
    settings: ModelSettings,
    pipeline: DiffusionPipeline,
    adapter: str | None,
    scheduler: SchedulerMixin,
    solver: str | None = None,
) -> ModelInfo:
    """Return the name, sizes, schedulers, adapters and recommended settings of a model.

    Args:
        adapter: Id of the model's IP-Adapter. None: no adapter is loaded.
        scheduler: The default scheduler of requests.
        solver: The default scheduler's name. None: the model's own scheduler.
    """
    identity = sources.identify(settings)
    best = recommend(settings, pipeline, scheduler)
    pipelines: tuple[Pipeline, ...] = ("text-to-image", "image-to-image")
    return ModelInfo(
        id=identity,
        name=identity.rsplit("/", 1)[-1],
        family=family(pipeline),
        pipelines=(*pipelines, "ip-adapter") if adapter else pipelines,
        base_resolution=base_resolution(pipeline),
        size_multiple=size_multiple(pipeline),
        schedulers=scheduler_names(pipeline, scheduler),
        adapters=(adapter,) if adapter else (),
        max_images=limits.MAX_BATCH,
        negative_prompts=has_negative_prompts(pipeline),
        strengths=not is_edit(pipeline),
        domains=DOMAINS if settings.model == BUNDLED else (),
        recommended=best.model_copy(update={"scheduler": solver}),
    )


def weight_of(pipeline: DiffusionPipeline) -> int:
    """Return the bytes of all networks' weights in a pipeline."""
    return sum(map(weight, networks_of(pipeline)))


def networks_of(pipeline: DiffusionPipeline) -> list[nn.Module]:
    return [part for part in pipeline.components.values() if isinstance(part, nn.Module)]
