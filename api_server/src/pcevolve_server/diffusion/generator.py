"""Text-to-image and image-to-image through diffusers pipelines on one set of weights.

Models that edit take the image in addition to the noise, so every variation begins at pure noise and has no
strength. Sources of how they draw without an image: the model card of FLUX.1 Kontext; Brooks et al. 2023,
"InstructPix2Pix" (arXiv 2211.09800), section 3.2.1: in training a part of the images were zeros; Wu et al.
2025, "Qwen-Image Technical Report" (arXiv 2508.02324): it is trained to draw and to edit by the same weights,
so Qwen-Image's pipeline draws with those of Qwen-Image-Edit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from diffusers import DiffusionPipeline, SchedulerMixin
from torch import nn

from pcevolve_server.diffusion import schedulers, traits
from pcevolve_server.diffusion.additions import Adapter
from pcevolve_server.diffusion.batch_invariant import BatchInvariant
from pcevolve_server.diffusion.encodings import (
    MOST_BYTES,
    ImageEncodings,
    Prompt,
    Reader,
    cut_tokens,
    find_readers,
    stack_prompts,
)
from pcevolve_server.diffusion.families import family_of
from pcevolve_server.errors import AbandonedError, NotFiniteError
from pcevolve_server.model_settings import Attention
from pcevolve_server.networks import Interrupter, attend_by
from pcevolve_server.work import IsCancelled, Picture, Recipe, Task, never_cancelled
from pcevolve_shared.wire import ModelInfo

ENCODE, DENOISE, DECODE = "encode", "denoise", "decode"
_SLOW_PIXELS = 768 * 768
"""Pixels of an image whose attention takes a processor seconds."""


class Stages:
    """Measures the stages of pipelines on the same networks; changes no result.

    On a GPU work is queued and done later. So the clock is read when all of it is done: once a run, before
    decoding, which has to wait for it anyway.

    Attributes:
        finite: Whether the pixels of the latest run were finite before they were clipped.
    """

    def __init__(
        self,
        denoiser: nn.Module,
        autoencoder: Any,  # noqa: ANN401 - it gets another method
        device: torch.device,
    ) -> None:
        self._begun: dict[str, float] = {}
        self.finite = True
        self._device = device
        denoiser.register_forward_pre_hook(lambda *_: self._pass(DENOISE))
        decode = autoencoder.decode

        def decode_timed(*positional: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever pipelines hand over
            self._pass(DECODE)
            found = decode(*positional, **named)
            # Pipelines clip infinite values to black and white.
            self.finite = self.finite and bool(torch.isfinite(found[0]).all())
            return found

        autoencoder.decode = decode_timed

    def begin(self) -> None:
        """Begin a run: the encoding stage lasts until the denoiser first runs."""
        self._begun, self.finite = {ENCODE: time.perf_counter()}, True

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage of the finished run."""
        ends = [*self._begun.values(), time.perf_counter()][1:]
        return {stage: end - begun for (stage, begun), end in zip(self._begun.items(), ends, strict=True)}

    # The first denoising step ends the encoding; later steps of the run call this too.
    def _pass(self, stage: str) -> None:
        if stage in self._begun:
            return
        if stage == DECODE and self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self._begun[stage] = time.perf_counter()


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DiffusionGenerator:
    """A pipeline pair of AutoPipelineForText2Image and AutoPipelineForImage2Image.

    The noise of each image comes from its own CPU generator, seeded with the task's seed. So it does not
    depend on the device or the rest of the batch.

    Attributes:
        text_to_image: A pipeline.
        image_to_image: A pipeline made from the same components.
        scheduler: The model's own; never run, only copied.
        adapter: The IP-Adapter; ``None`` if none is loaded.
        invariant: Makes the pipelines' denoiser independent of the batch; ``None`` if nothing does.
        encoded: Embeds prompts; ``None`` if the pipelines have to.
        images: Encodes the images of variations; ``None`` if the autoencoder does so itself.
        stages: Measures the runs of both pipelines.
        interrupter: Ends a run within a step.
        attention: The kernels for attention.
    """

    info: ModelInfo
    text_to_image: DiffusionPipeline
    image_to_image: DiffusionPipeline
    scheduler: SchedulerMixin
    stages: Stages
    interrupter: Interrupter
    attention: Attention = Attention.AUTO
    adapter: Adapter | None = None
    invariant: BatchInvariant | None = None
    encoded: Prompt | None = None
    images: ImageEncodings | None = None

    @property
    def bit_exact_batch_size(self) -> int:
        """A full piece of the denoiser, if only the denoiser runs on several images at once; else 1."""
        if self.invariant is None:
            return 1
        factor, size = self.text_to_image.vae_scale_factor, self.info.size
        return self.invariant.images(size.height // factor, size.width // factor)

    @property
    def fixed_cost_batches(self) -> bool:
        """True if the denoiser gets full pieces only."""
        return self.invariant is not None and self.invariant.padded

    @property
    def on_gpu(self) -> bool:
        """True if its networks run on a GPU, permanently or moved there when needed."""
        return bool(self.text_to_image._execution_device.type != "cpu")

    @property
    def memory(self) -> int:
        """Bytes of all weights, which both pipelines share, and of the caches."""
        return traits.weight_of(self.text_to_image) + MOST_BYTES

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks, which share one recipe."""
        recipe = tasks[0].recipe
        scheduler = self._scheduler(recipe)
        arguments = {"num_inference_steps": recipe.steps}
        return self._pictures(tasks, self._run(self.text_to_image, scheduler, tasks, arguments, is_cancelled))

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations: strength 0 is the input, 1 is a new image that ignores it.

        Between them, noise of exactly that share of the noise levels is added to the input.
        """
        recipe = tasks[0].recipe
        # A pipeline uses one image prompt for its whole batch.
        if recipe.adapter_scale is not None and any(task.image is not tasks[0].image for task in tasks):
            return [picture for task in tasks for picture in self.vary([task], is_cancelled)]
        scheduler = self._scheduler(recipe)
        levels = schedulers.levels(scheduler)
        kept = schedulers.level_of_strength(scheduler, recipe.strength)
        if kept == 0:
            return [Picture(task.start(), cut_tokens(self._readers, task.prompt)) for task in tasks]
        # All noise: nothing of the image is left, so it is a new image, with the same bits as one.
        if kept == levels:
            return self.create(tasks, is_cancelled)
        steps = schedulers.run_steps(kept / levels, recipe.steps)
        arguments = {"image": [task.start() for task in tasks], "strength": 1.0, "num_inference_steps": steps}
        begun = schedulers.begin_at(scheduler, kept)
        return self._pictures(tasks, self._run(self.image_to_image, begun, tasks, arguments, is_cancelled))

    def _scheduler(self, recipe: Recipe) -> SchedulerMixin:
        return schedulers.fit_steps(
            schedulers.scheduler_named(recipe.scheduler, self.scheduler), recipe.steps
        )

    def _run(
        self,
        pipeline: DiffusionPipeline,
        scheduler: SchedulerMixin,
        tasks: Sequence[Task],
        arguments: dict[str, Any],
        is_cancelled: IsCancelled,
    ) -> np.ndarray:
        """Return uint8 ``(tasks, height, width, 3)``; floats become bytes on the device, before they are copied."""
        recipe = tasks[0].recipe
        pipeline.scheduler = schedulers.begin_at_first_level(scheduler)
        self.stages.begin()
        if self.images is not None:
            self.images.expect([task.caller for task in tasks])
        if self.invariant is not None:
            self.invariant.guided = traits.is_doubled(pipeline, recipe.guidance)
        # On the processor, one for each image: noise must not depend on the device or on the batch.
        generators = [torch.Generator("cpu").manual_seed(task.seed) for task in tasks]
        slow = not self.on_gpu and recipe.pixels > _SLOW_PIXELS
        listening = self.interrupter.listening(is_cancelled, slow)
        with listening, attend_by(self.attention), torch.inference_mode():
            adapted = self.adapter.arguments(pipeline, recipe, tasks[0].image) if self.adapter else {}
            output = pipeline(
                **self._prompts(tasks),
                **traits.sides(pipeline, recipe.width, recipe.height),
                **traits.spell_guidance(pipeline, recipe.guidance),
                generator=generators,
                output_type="pt",
                callback_on_step_end=_ends_when(is_cancelled),
                **adapted,
                **arguments,
            )
            made = output.images.float()
            # In half precision a large model may overflow; the image would be black, without an error.
            if not (self.stages.finite and torch.isfinite(made).all()):
                raise NotFiniteError
            # Rounded: cutting off would make every image half a level darker.
            return np.asarray((made * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu())

    def _prompts(self, tasks: Sequence[Task]) -> dict[str, Any]:
        """Return embeddings, or the texts for pipelines that have to embed them."""
        positive = [task.prompt for task in tasks]
        negative = [task.negative_prompt for task in tasks] if self.info.negative_prompts else []
        if self.encoded is not None:
            return stack_prompts(self.encoded, [task.caller for task in tasks], positive, negative)
        return {"prompt": positive} | ({"negative_prompt": negative} if negative else {})

    def _pictures(self, tasks: Sequence[Task], arrays: np.ndarray) -> list[Picture]:
        share = {stage: seconds / len(tasks) for stage, seconds in self.stages.seconds().items()}
        cut = {prompt: cut_tokens(self._readers, prompt) for prompt in {task.prompt for task in tasks}}
        return [
            Picture(array, cut[task.prompt], seconds=share) for task, array in zip(tasks, arrays, strict=True)
        ]

    @cached_property
    def _readers(self) -> list[Reader]:
        return find_readers(self.text_to_image)


def _ends_when(is_cancelled: IsCancelled) -> Callable[..., dict[str, Any]]:
    """Return a callback for each step that ends a cancelled run."""

    def after_step(
        _: DiffusionPipeline, step: int, timestep: object, tensors: dict[str, Any]
    ) -> dict[str, Any]:
        if is_cancelled():
            raise AbandonedError("the caller no longer waits for these images")
        return tensors

    return after_step


class EditGenerator(DiffusionGenerator):
    """Pipelines that edit: one creates without an image, the other varies an image, to a degree that cannot be set."""

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks, which share one recipe."""
        arguments = self._arguments(tasks[0].recipe)
        if not traits.takes(self.text_to_image, "width"):
            arguments["image"] = self._no_images(tasks)
        scheduler = self._scheduler(tasks[0].recipe)
        return self._pictures(tasks, self._run(self.text_to_image, scheduler, tasks, arguments, is_cancelled))

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations of the tasks' images; the recipe's strength is ignored."""
        images: Any = [task.start() for task in tasks]
        if family_of(type(self.image_to_image).__name__).alone:
            if len(tasks) > 1:  # it takes several for several views of what one prompt is about
                return [picture for task in tasks for picture in self.vary([task], is_cancelled)]
            images = images[0]
        scheduler = self._scheduler(tasks[0].recipe)
        arguments = self._arguments(tasks[0].recipe) | {"image": images}
        return self._pictures(
            tasks, self._run(self.image_to_image, scheduler, tasks, arguments, is_cancelled)
        )

    def _arguments(self, recipe: Recipe) -> dict[str, Any]:
        """Return the steps, and for Kontext the requested size, which it would change to about a million pixels."""
        sized = {"max_area": recipe.width * recipe.height, "_auto_resize": False}
        return {"num_inference_steps": recipe.steps} | {
            name: value for name, value in sized.items() if traits.takes(self.text_to_image, name)
        }

    def _no_images(self, tasks: Sequence[Task]) -> torch.Tensor:
        """Return zeros in place of encoded images, float ``(tasks, channels, height / 8, width / 8)``."""
        recipe, pipeline = tasks[0].recipe, self.text_to_image
        factor = pipeline.vae_scale_factor
        shape = (
            len(tasks),
            pipeline.vae.config.latent_channels,
            recipe.height // factor,
            recipe.width // factor,
        )
        return torch.zeros(shape, dtype=traits.denoiser(pipeline).dtype)
