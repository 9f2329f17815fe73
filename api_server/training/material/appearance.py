"""Colours, noise fields and degradations that all renderers share."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from material.facts import SIZE, Rng

Colour = tuple[int, int, int]

NAMED: dict[str, Colour] = {
    "black": (12, 12, 12),
    "white": (245, 245, 245),
    "grey": (128, 128, 128),
    "red": (200, 40, 40),
    "green": (40, 150, 60),
    "blue": (40, 70, 190),
    "yellow": (235, 205, 60),
    "orange": (235, 135, 40),
    "purple": (125, 50, 155),
    "brown": (120, 75, 40),
    "pink": (240, 150, 180),
}


def jitter(colour: Colour, rng: Rng, spread: float = 14.0) -> Colour:
    """Return a colour near the given one."""
    moved = np.clip(np.asarray(colour) + rng.normal(0, spread, 3), 0, 255)
    return (int(moved[0]), int(moved[1]), int(moved[2]))


def luminance(colour: Colour) -> float:
    """Return the perceived brightness, 0..255."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def noise_field(rng: Rng, cells_x: int, cells_y: int) -> np.ndarray:
    """Return a smooth float32 ``(64, 64)`` field in about -1..1 with the given number of cells."""
    grid = rng.uniform(-1, 1, (max(cells_y, 2), max(cells_x, 2))).astype(np.float32)
    image = Image.fromarray(grid, mode="F").resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    return np.asarray(image)


def fractal(rng: Rng, cells: int = 4, octaves: int = 4) -> np.ndarray:
    """Return fractal noise, float32 ``(64, 64)``, roughly unit range."""
    total = np.zeros((SIZE, SIZE), np.float32)
    for octave in range(octaves):
        total += noise_field(rng, cells << octave, cells << octave) * 0.6**octave
    return total


def coarsen(image: Image.Image, cells: int, rng: Rng) -> Image.Image:
    """Reduce to a ``cells`` x ``cells`` grid and enlarge again, as a cheap scanner would."""
    small = image.resize((cells, cells), Image.Resampling.BOX)
    kernel = Image.Resampling.NEAREST if rng.random() < 0.3 else Image.Resampling.BICUBIC
    if kernel is Image.Resampling.BICUBIC and rng.random() < 0.5:
        kernel = Image.Resampling.BILINEAR
    return small.resize((SIZE, SIZE), kernel)


def finish(image: Image.Image, blur: float, cells: int, noise: float, rng: Rng) -> Image.Image:
    """Apply blur, resolution loss and sensor noise, in that order."""
    if blur > 0:
        image = image.filter(ImageFilter.GaussianBlur(blur))
    if cells < SIZE:
        image = coarsen(image, cells, rng)
    if noise > 0:
        pixels = np.asarray(image, np.float32)
        grain = rng.normal(0, noise, (SIZE, SIZE, 1)).astype(np.float32)
        image = Image.fromarray(np.clip(pixels + grain, 0, 255).astype(np.uint8))
    return image


def to_image(pixels: np.ndarray) -> Image.Image:
    """Turn a float ``(64, 64, 3)`` array in 0..255 into an RGB image."""
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
