"""Class-conditional models (DiT) and unconditional models (DDPM). The latter are served as models without classes.

diffusers has no image-to-image pipeline for these models, so this module contains the denoising loop. A
variation starts from the given image with noise of the requested strength (Meng et al. 2022, "SDEdit", arXiv
2108.01073), as in Private Evolution.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from diffusers import DDIMScheduler, DDPMScheduler, DiffusionPipeline, SchedulerMixin
from PIL import Image
from torch import Tensor

from pcevolve_server.diffusion import schedulers, traits
from pcevolve_server.errors import InvalidRequestError, ModelLoadError, NotFiniteError
from pcevolve_server.networks import Interrupter
from pcevolve_server.work import IsCancelled, Picture, Task, never_cancelled
from pcevolve_shared import limits
from pcevolve_shared.wire import ModelInfo, Recommended, Resolution

PIPELINES = ("DiTPipeline", "DDPMPipeline", "DDIMPipeline")
"""Classes of diffusers that this module serves, as named in ``model_index.json``."""


class Denoiser(Protocol):
    """Predicts the values that a scheduler needs, in the space in which noise is added."""

    def start(self, images: Sequence[Image.Image], generators: Sequence[torch.Generator]) -> Tensor:
        """Return images in that space, of shape ``(images, channels, height, width)``."""

    def predict(
        self, noisy: Tensor, timestep: Tensor, classes: Sequence[int | None], guidance: float
    ) -> Tensor:
        """Return the network's answer to noisy images, in their shape. Class None means any class."""

    def finish(self, values: Tensor) -> Tensor:
        """Return values as pixels in [-1, 1]."""


@dataclass(frozen=True)
class ClassConditionalGenerator:
    """Draws the class that a prompt names. A prompt without a known class is ignored.

    Without a known class, a new image gets a class that its seed determines, like the random ImageNet classes of
    Private Evolution. A variation then has no class, because the class of the given image is unknown.

    Attributes:
        scheduler: Only copied, never run.
        denoiser: The network, on its device.
        labels: Maps each class's name, in lower case, to the class's number. Empty for models without classes.
        classes: Number of classes.
        shape: Channels, height and width of the denoised tensor.
        memory: Bytes of all weights.
        interrupter: Ends a run within a step.
    """

    info: ModelInfo
    scheduler: SchedulerMixin
    denoiser: Denoiser
    labels: Mapping[str, int]
    classes: int
    shape: tuple[int, int, int]
    device: torch.device
    memory: int
    interrupter: Interrupter
    bit_exact_batch_size: int = 1
    fixed_cost_batches: bool = False

    @property
    def on_gpu(self) -> bool:
        return self.device.type != "cpu"

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make one picture for each task. All tasks share one recipe."""
        self._require_own_size(tasks)
        scheduler = schedulers.scheduler_named(tasks[0].recipe.scheduler, self.scheduler)
        scheduler.set_timesteps(tasks[0].recipe.steps)
        generators = _seed_generators(tasks)
        noisy = self._noise(generators) * scheduler.init_noise_sigma
        classes = [self._find_class(task.prompt, task.seed) for task in tasks]
        return self._denoise(tasks, scheduler, noisy, classes, generators, is_cancelled)

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations. Strength 0 returns the input, and strength 1 a new image.

        Any other strength adds noise of exactly that share of the noise levels.
        """
        self._require_own_size(tasks)
        recipe = tasks[0].recipe
        levels = schedulers.levels(self.scheduler)
        kept = schedulers.level_of_strength(self.scheduler, recipe.strength)
        if kept == levels:
            return self.create(tasks, is_cancelled)
        images = [task.start() for task in tasks]
        if kept == 0:
            return [Picture(each) for each in images]
        whole = schedulers.scheduler_named(recipe.scheduler, self.scheduler)
        scheduler = schedulers.begin_at(whole, kept)
        scheduler.set_timesteps(schedulers.run_steps(kept / levels, recipe.steps))
        generators = _seed_generators(tasks)
        with torch.inference_mode():
            start = self.denoiser.start(images, generators)
        first = scheduler.timesteps[:1].expand(len(tasks))
        noisy = scheduler.add_noise(start, self._noise(generators), first)
        classes = [self._find_class(task.prompt) for task in tasks]
        return self._denoise(tasks, scheduler, noisy, classes, generators, is_cancelled)

    def _require_own_size(self, tasks: Sequence[Task]) -> None:
        recipe, own = tasks[0].recipe, self.info.size
        if (recipe.width, recipe.height) != (own.width, own.height):
            raise InvalidRequestError(f"this model makes only images of {own.width}x{own.height}")

    def _find_class(self, prompt: str, seed: int | None = None) -> int | None:
        """Return the class that a prompt names, preferring longer names. Without such a class, draw one by the seed."""
        told = " ".join(re.findall(r"\w+", prompt.casefold()))
        known = [label for label in self.labels if f" {label} " in f" {told} "]
        if known:
            return self.labels[max(known, key=len)]
        if seed is None or not self.classes:
            return None
        return int.from_bytes(hashlib.sha256(f"class:{seed}".encode()).digest()[:8], "big") % self.classes

    def _noise(self, generators: Sequence[torch.Generator]) -> Tensor:
        rows = [torch.randn(self.shape, generator=each) for each in generators]
        return torch.stack(rows).to(self.device)

    def _denoise(
        self,
        tasks: Sequence[Task],
        scheduler: SchedulerMixin,
        noisy: Tensor,
        classes: Sequence[int | None],
        generators: list[torch.Generator],
        is_cancelled: IsCancelled,
    ) -> list[Picture]:
        takes = inspect.signature(scheduler.step).parameters
        extra = {"generator": generators} if "generator" in takes else {}
        with self.interrupter.listening(is_cancelled), torch.inference_mode():
            for timestep in scheduler.timesteps:
                scaled = scheduler.scale_model_input(noisy, timestep)
                said = self.denoiser.predict(scaled, timestep, classes, tasks[0].recipe.guidance)
                noisy = scheduler.step(said, timestep, noisy, **extra).prev_sample
            values = self.denoiser.finish(noisy)
            if not torch.isfinite(values).all():  # clipped, what is infinite would be black or white
                raise NotFiniteError
            made = (values / 2 + 0.5).clamp(0, 1).permute(0, 2, 3, 1).float().cpu().numpy()
        return [Picture(each) for each in (made * 255).round().astype(np.uint8)]


@dataclass(frozen=True)
class LatentDenoiser:
    """A diffusion transformer of latents (Peebles and Xie 2023, arXiv 2212.09748). An extra class means any class."""

    transformer: Any
    autoencoder: Any

    def start(self, images: Sequence[Image.Image], generators: Sequence[torch.Generator]) -> Tensor:
        pixels = _to_tensor(images).to(self.autoencoder.device, self.autoencoder.dtype)
        rows = [
            self.autoencoder.encode(each[None]).latent_dist.sample(generator)
            for each, generator in zip(pixels, generators, strict=True)
        ]
        return torch.cat(rows).mul(self.autoencoder.config.scaling_factor)

    def predict(
        self, noisy: Tensor, timestep: Tensor, classes: Sequence[int | None], guidance: float
    ) -> Tensor:
        anything: int = self.transformer.config.num_embeds_ada_norm
        numbers = [anything if each is None else each for each in classes]
        if guidance <= 1 or set(numbers) == {anything}:
            return self._predict(noisy, timestep, numbers)
        both = self._predict(torch.cat([noisy, noisy]), timestep, numbers + [anything] * len(numbers))
        named, blind = both.chunk(2)
        return blind + guidance * (named - blind)

    def _predict(self, noisy: Tensor, timestep: Tensor, numbers: Sequence[int]) -> Tensor:
        labels = torch.tensor(numbers, device=noisy.device)
        times = timestep.to(noisy.device).expand(len(noisy))
        said: Tensor = self.transformer(
            noisy.to(self.transformer.dtype), timestep=times, class_labels=labels
        ).sample
        return said[:, : noisy.shape[1]].to(noisy.dtype)  # behind it may be a learned variance

    def finish(self, values: Tensor) -> Tensor:
        latents = (values / self.autoencoder.config.scaling_factor).to(self.autoencoder.dtype)
        made: Tensor = self.autoencoder.decode(latents).sample
        return made


@dataclass(frozen=True)
class PixelDenoiser:
    """A UNet of pixels without a condition (Ho et al. 2020, arXiv 2006.11239).

    Attributes:
        grey: Whether a pixel has one channel instead of three.
    """

    unet: Any
    grey: bool

    def start(self, images: Sequence[Image.Image], generators: Sequence[torch.Generator]) -> Tensor:
        if self.grey:
            return _to_tensor([each.convert("L") for each in images])[:, :1].to(self.unet.device)
        return _to_tensor(images).to(self.unet.device)

    def predict(
        self, noisy: Tensor, timestep: Tensor, classes: Sequence[int | None], guidance: float
    ) -> Tensor:
        said: Tensor = self.unet(noisy.to(self.unet.dtype), timestep.to(noisy.device)).sample
        return said[:, : noisy.shape[1]].to(noisy.dtype)

    def finish(self, values: Tensor) -> Tensor:
        return values.expand(-1, 3, -1, -1)


def make_generator(pipeline: DiffusionPipeline, identity: str) -> ClassConditionalGenerator:
    """Return a generator for a pipeline of ``PIPELINES``.

    Args:
        name: The model's id.

    Raises:
        ModelLoadError: The scheduler cannot begin at an exact strength, or images are not square, or the number
            of channels is neither 1 nor 3.
        AttributeError: The pipeline lacks a part of its class.
    """
    schedulers.check(pipeline.scheduler)
    network = traits.denoiser(pipeline)
    side, channels = _side(network.config.sample_size), int(network.config.in_channels)
    autoencoder = getattr(pipeline, "vae", None)
    if autoencoder is None and channels not in (1, 3):
        raise ModelLoadError(
            f"its pixels have {channels} channels: images have 1 (grey) or 3 (red, green, blue)"
        )
    factor = 1 if autoencoder is None else 2 ** (len(autoencoder.config.block_out_channels) - 1)
    labels = {
        " ".join(re.findall(r"\w+", name.casefold())): int(number)
        for name, number in getattr(pipeline, "labels", {}).items()
    }
    scheduler = pipeline.scheduler
    if isinstance(scheduler, DDPMScheduler):
        # This solver needs the model's thousand steps. With a request's few steps it makes noise.
        scheduler = DDIMScheduler.from_config(scheduler.config)
    return ClassConditionalGenerator(
        info=_info(identity, type(pipeline).__name__, side * factor, guided=autoencoder is not None),
        scheduler=scheduler,
        denoiser=PixelDenoiser(network, channels == 1)
        if autoencoder is None
        else LatentDenoiser(network, autoencoder),
        labels=labels,
        classes=0 if autoencoder is None else int(network.config.num_embeds_ada_norm),
        shape=(channels, side, side),
        device=network.device,
        memory=traits.weight_of(pipeline),
        interrupter=Interrupter(traits.networks_of(pipeline)),
    )


def _side(sample_size: object) -> int:
    sides = {*sample_size} if isinstance(sample_size, (list, tuple)) else {sample_size}
    if len(sides) == 1 and isinstance(side := sides.pop(), int):
        return side
    raise ModelLoadError(
        f"its sample_size is {sample_size}: models without prompts are served only if their images are square"
    )


def is_served(index: Mapping[str, Any]) -> bool:
    """True if a ``model_index.json`` with this content names a pipeline of this module."""
    return index.get("_class_name") in PIPELINES


def _info(identity: str, kind: str, side: int, guided: bool) -> ModelInfo:
    # DiT's own pipeline has 50 steps and guidance 4. DDIM's authors show CIFAR-10 with 50 steps, too.
    best = Recommended(steps=50, guidance=4.0 if guided else 1.0, strength_low=0.2, strength_high=0.95)
    return ModelInfo(
        id=identity,
        name=identity.rsplit("/", 1)[-1],
        family=kind.removesuffix("Pipeline").lower(),
        pipelines=("text-to-image", "image-to-image"),
        base_resolution=Resolution(width=side, height=side),
        size_multiple=side,
        max_images=limits.MAX_BATCH,
        negative_prompts=False,
        recommended=best,
    )


def _seed_generators(tasks: Sequence[Task]) -> list[torch.Generator]:
    """Return a noise generator for each task. It depends on the seed alone, not on the device or the batch."""
    return [torch.Generator("cpu").manual_seed(task.seed) for task in tasks]


def _to_tensor(images: Sequence[Image.Image]) -> Tensor:
    """Return images of one size as float32 ``(images, 3, height, width)`` in [-1, 1]."""
    arrays = np.stack([np.asarray(each.convert("RGB"), dtype=np.float32) for each in images])
    return torch.from_numpy(arrays).permute(0, 3, 1, 2) / 127.5 - 1
