"""Text-to-image and image-to-image through diffusers pipelines on one set of weights."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from diffusers import DiffusionPipeline, SchedulerMixin
from PIL import Image

from pcevolve_server.diffusion import schedulers
from pcevolve_server.diffusion.adapter import Adapter
from pcevolve_server.diffusion.prompts import cut_tokens
from pcevolve_server.errors import GenerationError
from pcevolve_server.generator import Picture, Task
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DiffusionGenerator:
    """Any pipeline pair of AutoPipelineForText2Image and AutoPipelineForImage2Image.

    Noise comes from one CPU generator per image, seeded with the task's seed: it does not depend on the
    device or on the rest of the batch.

    Attributes:
        text_to_image: A pipeline.
        image_to_image: A pipeline made from the same components.
        scheduler: The model's own; never run, only copied.
        adapter: ``None`` if no IP-Adapter is loaded.
    """

    info: ModelInfo
    text_to_image: DiffusionPipeline
    image_to_image: DiffusionPipeline
    scheduler: SchedulerMixin
    adapter: Adapter | None = None

    def create(self, tasks: Sequence[Task]) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks, which share one recipe."""
        recipe = tasks[0].recipe
        scheduler = schedulers.scheduler_named(recipe.scheduler, self.scheduler)
        arrays = self._run(
            self.text_to_image,
            scheduler,
            tasks,
            {"num_inference_steps": recipe.steps, "width": recipe.width, "height": recipe.height},
        )
        return self._pictures(tasks, arrays)

    def vary(self, tasks: Sequence[Task]) -> list[Picture]:
        """Make variations: strength 0 is the input, 1 is a creation that ignores it.

        In between, the input is noised to exactly that share of the schedule. A scheduler without a
        discrete noise schedule (flow matching) falls back to the whole steps of diffusers.
        """
        recipe = tasks[0].recipe
        # A pipeline gives one image prompt to its whole batch.
        if recipe.adapter_scale is not None and any(task.image is not tasks[0].image for task in tasks):
            return [picture for task in tasks for picture in self.vary([task])]
        scheduler = schedulers.scheduler_named(recipe.scheduler, self.scheduler)
        levels = schedulers.levels(scheduler, recipe.steps)
        kept = round((1.0 if recipe.strength is None else recipe.strength) * levels)
        if kept == 0:
            return [self._picture(task, _input_of(task)) for task in tasks]
        if kept == levels:
            return self.create(tasks)
        if not schedulers.has_noise_schedule(scheduler):
            return self._vary(tasks, scheduler, strength=kept / levels, steps=recipe.steps)
        steps = schedulers.run_steps(kept / levels, recipe.steps)
        return self._vary(tasks, schedulers.begun_at(scheduler, kept), strength=1.0, steps=steps)

    def _vary(
        self, tasks: Sequence[Task], scheduler: SchedulerMixin, *, strength: float, steps: int
    ) -> list[Picture]:
        arguments = {
            "image": [_input_of(task) for task in tasks],
            "strength": strength,
            "num_inference_steps": steps,
        }
        return self._pictures(tasks, self._run(self.image_to_image, scheduler, tasks, arguments))

    def _run(
        self,
        pipeline: DiffusionPipeline,
        scheduler: SchedulerMixin,
        tasks: Sequence[Task],
        arguments: dict[str, Any],
    ) -> np.ndarray:
        """Return float ``(tasks, height, width, 3)`` in [0, 1]."""
        recipe = tasks[0].recipe
        pipeline.scheduler = scheduler
        adapted = self.adapter.arguments(pipeline, recipe, tasks[0].image) if self.adapter else {}
        with torch.inference_mode():
            output = pipeline(
                prompt=[task.prompt for task in tasks],
                negative_prompt=[task.negative_prompt for task in tasks],
                guidance_scale=recipe.guidance,
                generator=[torch.Generator("cpu").manual_seed(task.seed) for task in tasks],
                output_type="np",
                **adapted,
                **arguments,
            )
        arrays: np.ndarray = output.images
        if not np.isfinite(arrays).all():
            raise GenerationError("the model's output is not finite", code="not_finite")
        return arrays

    def _pictures(self, tasks: Sequence[Task], arrays: np.ndarray) -> list[Picture]:
        pixels = (arrays * 255).round().astype(np.uint8)
        return [
            self._picture(task, Image.fromarray(array)) for task, array in zip(tasks, pixels, strict=True)
        ]

    def _picture(self, task: Task, image: Image.Image) -> Picture:
        names = ("tokenizer", "tokenizer_2")
        tokenizers = [getattr(self.text_to_image, name, None) for name in names]
        cut = cut_tokens([tokenizer for tokenizer in tokenizers if tokenizer is not None], task.prompt)
        return Picture(image, cut)


def _input_of(task: Task) -> Image.Image:
    """Return the task's image at the recipe's size, which is its own but for a rest of some pixels."""
    if task.image is None:
        raise GenerationError("a variation without an image")
    size = (task.recipe.width, task.recipe.height)
    return task.image if task.image.size == size else task.image.resize(size, Image.Resampling.LANCZOS)
