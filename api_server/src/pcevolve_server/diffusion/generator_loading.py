"""Load a Generator by a name from the command line. Bundled, local and hub models share one path of code."""

from __future__ import annotations

import inspect
import logging
from dataclasses import replace
from importlib.util import find_spec

import diffusers
import torch
from diffusers import DiffusionPipeline
from PIL import Image

from pcevolve_server import networks, sources
from pcevolve_server.diffusion import (
    class_conditional,
    distilled,
    families,
    numerics,
    pipeline_loading,
    schedulers,
    traits,
)
from pcevolve_server.diffusion.additions import Adapter, add_lora, add_textual_inversion, load_adapter
from pcevolve_server.diffusion.batch_invariant import (
    fix_device,
    make_batch_invariant,
    make_decoder_batch_invariant,
)
from pcevolve_server.diffusion.encodings import ImageEncodings, remember_prompts
from pcevolve_server.diffusion.generator import DiffusionGenerator, EditGenerator, Stages
from pcevolve_server.diffusion.numerics import is_small
from pcevolve_server.diffusion.pipeline_loading import Source
from pcevolve_server.diffusion.safety import ModelChecker, SafeGenerator
from pcevolve_server.diffusion.traits import is_doubled
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import (
    OWN_SCHEDULER,
    Batching,
    ModelSettings,
    Offload,
    SafetyPolicy,
    WeightFormat,
)
from pcevolve_server.work import Generator, Recipe, Task, generate
from pcevolve_shared.memory import keep_memory

_COMPILES = (
    "--compile works only on CUDA, and for small models on a processor with --batching"
    " exact: leave --compile out"
)


def _require_options(settings: ModelSettings, device: torch.device) -> None:
    """Refuse options that this device does not support, before the model is loaded."""
    alike = settings.batching is Batching.EXACT
    if settings.compiled and not (device.type == "cuda" or (device.type == "cpu" and alike)):
        raise ModelLoadError(_COMPILES)
    if settings.weights is WeightFormat.INT8:
        if sources.is_checkpoint(settings.model):  # the library would read it whole, and say nothing
            raise ModelLoadError("--weights int8 needs a model in diffusers' layout, not a single file")
        if device.type != "cuda":
            raise ModelLoadError(
                f"--weights int8 needs CUDA, and the device is {device}: leave --weights out"
            )
        if find_spec("bitsandbytes") is None:
            raise ModelLoadError("--weights int8 needs bitsandbytes: pip install 'pcevolve-server[int8]'")


def compile_for_usual(generator: DiffusionGenerator) -> None:
    """Compile for the model's own size and recommended guidance, by drawing once.

    PyTorch caches the result. The first compilation takes about a minute, later ones take seconds.

    Raises:
        ModelLoadError: The model cannot be compiled, or the compiler failed.
    """
    if generator.info.recommended is None or (generator.invariant is None and not generator.on_gpu):
        raise ModelLoadError(_COMPILES)
    recipe, pipeline = Recipe.usual(generator.info), generator.text_to_image
    if generator.invariant is None:
        traits.denoiser(pipeline).compile()
    else:
        generator.invariant.compile(
            recipe.height // pipeline.vae_scale_factor,
            recipe.width // pipeline.vae_scale_factor,
            pipeline.unet.config.in_channels,
            is_doubled(pipeline, recipe.guidance),
        )
    try:
        generate(generator, [Task(recipe, "", "", seed=0)])
        varied = replace(recipe, strength=0.5)
        generate(generator, [Task(varied, "", "", 0, Image.new("RGB", (recipe.width, recipe.height)))])
    except RuntimeError as error:
        raise ModelLoadError(f"--compile needs a C++ compiler, and failed: {type(error).__name__}") from error


logger = logging.getLogger(__name__)

# Above this size, decoding one image uses a whole GPU, and a batch would not fit.
_SLICED_DECODING_PIXELS = 256 * 256
# More threads would wait for each other longer than they compute (docs/results/speed.md).
_THREADS_OF_SMALL = 1


def load(settings: ModelSettings) -> Generator:
    """Load the model that ``settings`` name onto the device.

    Raises:
        ModelLoadError: The model cannot be loaded. The message has its name and the next step.
    """
    networks.quieten(diffusers.utils.logging)
    keep_memory()
    device = networks.find_device(settings.device)
    _require_options(settings, device)
    if settings.batching is Batching.EXACT:
        networks.compute_alike(device)
    source = pipeline_loading.find(settings)
    if class_conditional.is_served(source.index):
        return _load_class_conditional(source, settings, device)
    pipeline = pipeline_loading.load(source, settings, device)
    if threads := settings.threads or (_THREADS_OF_SMALL if is_small(traits.denoiser(pipeline)) else 0):
        torch.set_num_threads(threads)
    for each in settings.loras:
        add_lora(each, pipeline, settings)
    pipeline.scheduler = distilled.begin_at_noise(pipeline.scheduler, settings)
    for word in settings.embeddings:
        add_textual_inversion(word, pipeline, settings)
    adapter = load_adapter(settings, pipeline)
    pipeline_loading.place(pipeline, settings, device)
    computes = _lower(settings, pipeline, device)
    checker = _detach_checker(settings, pipeline)
    generator = _generator(settings, pipeline, device, adapter)
    if settings.compiled:
        compile_for_usual(generator)
    logger.info(
        "model loaded", extra={"model": generator.info.id, "device": str(device), "precision": computes}
    )
    # The safety checker wraps the whole generator, so that every image from any pipeline is checked.
    return generator if checker is None else SafeGenerator(generator, checker, settings.safety_retries)


def _load_class_conditional(source: Source, settings: ModelSettings, device: torch.device) -> Generator:
    """Return a generator for a model of classes or of one kind of image. It has no text encoder and few options."""
    unknown = {
        "--lora": settings.loras,
        "--embedding": settings.embeddings,
        "--offload": settings.offload is Offload.ON,
        "--ip-adapter": settings.adapter,
        "--compile": settings.compiled,
        "--weights int8": settings.weights is WeightFormat.INT8,
        "--scheduler": settings.scheduler not in (None, OWN_SCHEDULER),
        "--safety-checker required": settings.safety is SafetyPolicy.REQUIRED,
    }
    if given := [option for option, value in unknown.items() if value]:
        raise ModelLoadError(f"{settings.model} has no text encoder: leave out {', '.join(given)}")
    if settings.threads:
        torch.set_num_threads(settings.threads)
    pipeline = pipeline_loading.load(source, settings, device)
    pipeline_loading.place(pipeline, replace(settings, offload=Offload.OFF), device)
    try:
        found = class_conditional.make_generator(pipeline, sources.identify(settings))
    except ModelLoadError as error:
        raise ModelLoadError(f"cannot serve {settings.model}: {error}") from error
    logger.info("model loaded", extra={"model": found.info.id, "device": str(device)})
    return found


def _lower(settings: ModelSettings, pipeline: DiffusionPipeline, device: torch.device) -> str:
    """Let the denoiser compute in a precision that suits the device, and return a description of the precision."""
    denoiser = traits.denoiser(pipeline)
    if device.type == "cpu" and (wanted := networks.cpu_dtype(settings.precision)) != denoiser.dtype:
        numerics.lower(denoiser, wanted)
    if device.type == "cuda" and settings.weights is WeightFormat.WHOLE:
        # Convolutions on tensor cores are faster with this layout.
        for network in (denoiser, pipeline.vae):
            network.to(memory_format=torch.channels_last)
    if is_small(denoiser):
        # Convolutions on processors are faster with this layout. Only the rounding of sums differs.
        denoiser.to(memory_format=torch.channels_last)
        # SDXL's pipelines themselves convert their autoencoder to float32 during a run.
        if not hasattr(pipeline, "upcast_vae"):
            numerics.speed_up_decoder(pipeline.vae.decoder, denoiser.dtype)
    return str(denoiser.dtype).removeprefix("torch.")


def _detach_checker(settings: ModelSettings, pipeline: DiffusionPipeline) -> ModelChecker | None:
    """Remove the safety checker from the pipeline, where it would only blacken images.

    The server decides how to answer requests for flagged images.
    """
    checker = getattr(pipeline, "safety_checker", None)
    extractor = getattr(pipeline, "feature_extractor", None)
    if checker is not None:
        pipeline.safety_checker = None
    if settings.safety is SafetyPolicy.OFF:
        return None
    if checker is None or extractor is None:
        if settings.safety is SafetyPolicy.REQUIRED:
            raise ModelLoadError(f"{settings.model} has no safety checker: use --safety-checker auto or off")
        return None
    return ModelChecker(checker, extractor)


def _generator(
    settings: ModelSettings, pipeline: DiffusionPipeline, device: torch.device, adapter: Adapter | None
) -> DiffusionGenerator:
    text_to_image, image_to_image = _pair(settings, pipeline)
    solver = _solver(settings, pipeline)
    scheduler = schedulers.scheduler_named(solver, pipeline.scheduler)
    info = traits.describe(settings, pipeline, adapter.id if adapter else None, scheduler, solver)
    # Code that prepares several images at once may round differently.
    loose = settings.batching is Batching.MERGE or traits.family(pipeline) != "stable-diffusion"
    denoiser = traits.denoiser(pipeline)
    same = None if loose or not is_small(denoiser) else make_batch_invariant(denoiser, settings.compiled)
    large = info.size.width * info.size.height > _SLICED_DECODING_PIXELS
    if same is not None:
        make_decoder_batch_invariant(pipeline.vae)
        fix_device(text_to_image)
        fix_device(image_to_image)
    elif large and hasattr(pipeline.vae, "enable_slicing"):
        pipeline.vae.enable_slicing()
    if same is None and settings.tiling and hasattr(pipeline.vae, "enable_tiling"):
        pipeline.vae.enable_tiling()  # of what is larger than it was made for
    images = ImageEncodings(pipeline.vae) if isinstance(pipeline.vae, diffusers.AutoencoderKL) else None
    kind = DiffusionGenerator if info.strengths else EditGenerator
    return kind(
        info,
        text_to_image,
        image_to_image,
        scheduler,
        Stages(denoiser, pipeline.vae, device),
        networks.Interrupter(traits.networks_of(pipeline)),
        settings.attention,
        adapter,
        same,
        remember_prompts(text_to_image),
        images,
    )


def _solver(settings: ModelSettings, pipeline: DiffusionPipeline) -> str | None:
    """Return the scheduler of requests that name none. None: the model's own scheduler."""
    if settings.scheduler is None:
        best = traits.solver(settings, pipeline)
        return best if best in traits.scheduler_names(pipeline, pipeline.scheduler) else None
    return None if settings.scheduler == OWN_SCHEDULER else settings.scheduler


def _pair(
    settings: ModelSettings, pipeline: DiffusionPipeline
) -> tuple[DiffusionPipeline, DiffusionPipeline]:
    """Check that two pipelines on the same weights can be served, and return them: one creates, the other varies."""
    try:
        if traits.is_edit(pipeline):
            # The pipeline that draws without an image uses a subset of the editing pipeline's parts.
            kind = getattr(diffusers, families.family_of(type(pipeline).__name__).draws)
            needed = inspect.signature(kind.__init__).parameters
            own = {name: part for name, part in pipeline.components.items() if name in needed}
            pair = kind(**own), pipeline
        else:
            pair = pipeline, diffusers.AutoPipelineForImage2Image.from_pipe(pipeline)
        traits.check(*pair)
        schedulers.check(pipeline.scheduler)
        names = traits.scheduler_names(pipeline, pipeline.scheduler)
        if settings.scheduler not in (None, OWN_SCHEDULER, *names):
            has = (
                f"this model has: {', '.join(names)}"
                if names
                else "this model runs only with its own scheduler"
            )
            raise ModelLoadError(f"unknown scheduler; {has}")
    except (ModelLoadError, ValueError) as error:
        raise ModelLoadError(f"cannot serve {settings.model}: {error}") from error
    for each in pair:
        each.set_progress_bar_config(disable=True)
    return pair
