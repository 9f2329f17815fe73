"""The PCEvolve paper's baseline DPImg: private images under Gaussian noise on their pixels, varied by the generator.

Here nothing is sent, for the generator runs in this process, and classes have as many images as they are said to
have. A run of the method ``dpimg`` hides how many there are and whose label is whose, which takes sqrt(2) times this
noise: the figures flatter the baseline a little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from PIL import Image

from benchmarks.selectors.design import Trial
from benchmarks.split import SETS
from pcevolve.dp.calibration import smallest_noise_multiplier
from pcevolve.dp.mechanisms import Noise
from pcevolve.privacy import Budget
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.fields import TEMPLATE
from pcevolve.public.words import fill
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.wire import Recommended

SIDE = 64
STRENGTH = 0.8
"""Share of the generator's noise levels that are run through: the published PE schedules begin about there."""


def add_noise(private: PrivateDataset, budget: Budget, noise: Noise) -> list[Image.Image]:
    """Each private image once, with noise that protects it.

    Pixels lie between 0 and 1, so an image that is replaced by another moves by at most the square root of their
    number; each image is in one release.
    """
    sides = SIDE * SIDE * 3
    sigma = float(smallest_noise_multiplier(budget, 1)) * sides**0.5
    found = []
    for place, image in enumerate(private.items):
        assert image is not None
        pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)) / 255.0
        released = noise.gaussian(f"image {place}", pixels.ravel(), sigma).reshape(pixels.shape)
        found.append(Image.fromarray((255 * released.clip(0, 1)).round().astype(np.uint8)))
    return found


def varied_noised(
    trial: Trial, private: PrivateDataset, model: DiffusionGenerator, advice: Recommended, noise: Noise
) -> tuple[list[Image.Image | None], list[int]]:
    """The images of all classes, and the class of each: as many variations of each noised image as are needed."""
    released = add_noise(private, Budget(Fraction(trial.epsilon), trial.delta), noise)
    recipe = Recipe(SIDE, SIDE, advice.steps, advice.guidance, strength=STRENGTH)
    tasks, targets = [], []
    for target, label in enumerate(private.labels):
        prompt = fill(TEMPLATE, SETS[trial.world].domain, label)
        own = [released[place] for place in np.flatnonzero(private.targets == target)]
        tasks += _tasks(recipe, prompt, own, trial, target)
        targets += [target] * trial.candidates
    return [each.image for each in model.vary(tasks)], targets


def _tasks(
    recipe: Recipe, prompt: str, images: Sequence[Image.Image], trial: Trial, target: int
) -> list[Task]:
    return [
        Task(recipe, prompt, "", _seed(trial.seed, target, number), images[number % len(images)])
        for number in range(trial.candidates)
    ]


def _seed(*parts: int) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")
