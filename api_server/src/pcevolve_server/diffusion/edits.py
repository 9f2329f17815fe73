"""Models that change an image as a prompt says, to a degree of their own: FLUX.1 Kontext and InstructPix2Pix.

They take the image beside the noise, so every variation begins at pure noise and no strength means anything. Sources:
the model card of FLUX.1 Kontext, which also draws without an image; Brooks et al. 2023, "InstructPix2Pix" (arXiv
2211.09800), section 3.2.1: in training a part of the images were zeros, so zeros are how it draws without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pcevolve_server.diffusion import traits
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.work import Picture, Recipe, Task, Unwanted, wanted


class EditGenerator(DiffusionGenerator):
    """A pipeline twice: without an image it creates, with one it varies."""

    def create(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make one picture from each task's prompt, in the order of the tasks, which share one recipe."""
        arguments = self._arguments(tasks[0].recipe)
        if not traits.takes(self.text_to_image, "width"):
            arguments["image"] = self._no_images(tasks)
        scheduler = self._scheduler(tasks[0].recipe)
        return self._pictures(tasks, self._run(self.text_to_image, scheduler, tasks, arguments, unwanted))

    def vary(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make variations of the tasks' images; the recipe's strength is not read."""
        arguments = self._arguments(tasks[0].recipe)
        scheduler = self._scheduler(tasks[0].recipe)
        return self._pictures(tasks, self._run(self.image_to_image, scheduler, tasks, arguments, unwanted))

    def _arguments(self, recipe: Recipe) -> dict[str, Any]:
        """Steps; and for Kontext the asked size, which it would else change to one of about a million pixels."""
        sized = {"max_area": recipe.width * recipe.height, "_auto_resize": False}
        return {"num_inference_steps": recipe.steps} | {
            name: value for name, value in sized.items() if traits.takes(self.text_to_image, name)
        }

    def _no_images(self, tasks: Sequence[Task]) -> torch.Tensor:
        """Zeros in the place of encoded images, float ``(tasks, channels, height / 8, width / 8)``."""
        recipe, pipeline = tasks[0].recipe, self.text_to_image
        factor = pipeline.vae_scale_factor
        shape = (
            len(tasks),
            pipeline.vae.config.latent_channels,
            recipe.height // factor,
            recipe.width // factor,
        )
        return torch.zeros(shape, dtype=traits.denoiser(pipeline).dtype)
