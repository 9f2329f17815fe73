"""Tasks for generators of images, and the pixels that they make; for tests only."""

import dataclasses

import numpy as np
from PIL import Image

from pcevolve_server.work import Task


def tasks(recipe, *seeds, prompt="a cat", negative="", image=None, **changes):
    """A task for each seed, of the recipe with changes."""
    changed = dataclasses.replace(recipe, **changes)
    return [Task(changed, prompt, negative, seed, image) for seed in seeds]


def pixels(pictures):
    """int64 ``(pictures, height, width, 3)``."""
    return np.stack([np.asarray(picture.image, dtype=np.int64) for picture in pictures])


def noise_image(seed=0, width=32, height=32):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def apart(one, other):
    """Mean absolute difference."""
    return np.abs(one - other).mean()
