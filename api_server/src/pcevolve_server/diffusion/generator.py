"""Text-to-image and image-to-image through two diffusers pipelines that share one set of weights.

Models that edit take the image in addition to the noise. So each of their variations begins at pure noise and
has no strength. Sources for drawing without an image: the model card of FLUX.1 Kontext; Brooks et al. 2023,
"InstructPix2Pix" (arXiv 2211.09800), section 3.2.1, where part of the training images were zeros; Wu et al.
2025, "Qwen-Image Technical Report" (arXiv 2508.02324), whose model was trained to draw and to edit with the
same weights. Qwen-Image's pipeline therefore draws with the weights of Qwen-Image-Edit.
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
"""Number of pixels of an image beyond which one attention takes a processor seconds."""


class Stages:
    """Measures the stages of pipelines that share their networks. Their outputs stay the same.

    A GPU queues work and does it later. The clock is therefore read after waiting for the queued work. This
    happens once in a run, before decoding, which has to wait for that work anyway.

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
        """Begin a run. The encoding stage lasts until the denoiser first runs."""
        self._begun, self.finite = {ENCODE: time.perf_counter()}, True

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage of the finished run."""
        ends = [*self._begun.values(), time.perf_counter()][1:]
        return {stage: end - begun for (stage, begun), end in zip(self._begun.items(), ends, strict=True)}

    # The first denoising step ends the encoding. Later steps call this method too.
    def _pass(self, stage: str) -> None:
        if stage in self._begun:
            return
        if stage == DECODE and self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self._begun[stage] = time.perf_counter()


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DiffusionGenerator:
    """Two diffusers pipelines, for text-to-image and image-to-image.

    The noise of each image comes from its own CPU generator, which has the task's seed. The noise therefore does
    not depend on the device or on the rest of the batch.

    Attributes:
        text_to_image: A pipeline.
        image_to_image: A pipeline of the same components.
        scheduler: The model's own scheduler. Only copied, never run.
        adapter: The IP-Adapter, or ``None``.
        invariant: Makes the pipelines' denoiser independent of the batch; ``None`` for a dependent denoiser.
        encoded: Embeds prompts. If ``None``, the pipelines embed them.
        images: Encodes the images of variations; ``None`` if the autoencoder encodes them itself.
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
        """The size of the denoiser's full piece if only the denoiser runs on several images at once; otherwise 1."""
        if self.invariant is None:
            return 1
        factor, size = self.text_to_image.vae_scale_factor, self.info.size
        return self.invariant.images(size.height // factor, size.width // factor)

    @property
    def fixed_cost_batches(self) -> bool:
        """True if the denoiser gets only full pieces."""
        return self.invariant is not None and self.invariant.padded

    @property
    def on_gpu(self) -> bool:
        """True if the networks run on a GPU, even if they are moved there only to run."""
        return bool(self.text_to_image._execution_device.type != "cpu")

    @property
    def memory(self) -> int:
        """Bytes of the weights, which both pipelines share, and of the caches."""
        return traits.weight_of(self.text_to_image) + MOST_BYTES

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks. All tasks share one recipe."""
        recipe = tasks[0].recipe
        scheduler = self._scheduler(recipe)
        arguments = {"num_inference_steps": recipe.steps}
        return self._pictures(tasks, self._run(self.text_to_image, scheduler, tasks, arguments, is_cancelled))

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations. Strength 0 returns the input, and strength 1 a new image that ignores the input.

        Any other strength adds noise of exactly that share of the noise levels.
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
        # At full strength nothing of the image is left, so the result is a new image, with the same bits.
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
        """Return uint8 ``(tasks, height, width, 3)``. The device converts floats to bytes before they are copied."""
        recipe = tasks[0].recipe
        pipeline.scheduler = schedulers.begin_at_first_level(scheduler)
        self.stages.begin()
        if self.images is not None:
            self.images.expect([task.caller for task in tasks])
        if self.invariant is not None:
            self.invariant.guided = traits.is_doubled(pipeline, recipe.guidance)
        # One generator for each image, on the processor: noise must not depend on the device or the batch.
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
            # In half precision a large model may overflow. Its image would be black, without an error.
            if not (self.stages.finite and torch.isfinite(made).all()):
                raise NotFiniteError
            # Values are rounded, because truncation would make every image half a level darker.
            return np.asarray((made * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu())

    def _prompts(self, tasks: Sequence[Task]) -> dict[str, Any]:
        """Return embeddings, or texts for pipelines that have to embed the texts themselves."""
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
    """Return a callback for each step. The callback ends a cancelled run."""

    def after_step(
        _: DiffusionPipeline, step: int, timestep: object, tensors: dict[str, Any]
    ) -> dict[str, Any]:
        if is_cancelled():
            raise AbandonedError("the caller no longer waits for these images")
        return tensors

    return after_step


class EditGenerator(DiffusionGenerator):
    """Pipelines of models that edit. One creates without an image. The other varies to a degree that cannot be set."""

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks. All tasks share one recipe."""
        arguments = self._arguments(tasks[0].recipe)
        if not traits.takes(self.text_to_image, "width"):
            arguments["image"] = self._no_images(tasks)
        scheduler = self._scheduler(tasks[0].recipe)
        return self._pictures(tasks, self._run(self.text_to_image, scheduler, tasks, arguments, is_cancelled))

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations of the tasks' images. The recipe's strength is ignored."""
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
        """Return the steps as an argument of the pipeline's call.

        For Kontext, add the requested size. Kontext would otherwise change the size to about a million pixels.
        """
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
