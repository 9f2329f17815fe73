"""Facts about one rendered image; prompts and training targets are both derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

Family = Literal["glyph", "surface", "item"]
Rng = np.random.Generator

SIZE = 64
DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CHARACTERS = DIGITS + LETTERS
MATERIALS = ("leather", "steel", "fabric", "wood", "concrete", "tile", "carpet")
DEFECTS = ("good", "cut", "scratch", "hole", "stain", "crack", "fold")
ITEMS = (
    "t-shirt",
    "trousers",
    "pullover",
    "dress",
    "coat",
    "shirt",
    "bag",
    "sneaker",
    "boot",
    "sandal",
    "hat",
    "cup",
    "bottle",
    "chair",
)


@dataclass(frozen=True)
class Facts:
    """Everything a prompt or a training target may say about one image.

    Attributes:
        family: Which renderer made the image.
        kind: Font kind (``serif``, ``sans``, ``mono``, ``hand``, ``pen``), material, or ``item``.
        label: The character, the defect, or the item.
        ink: Name of the foreground colour.
        ground: Name of the background colour.
        light_on_dark: Whether the foreground is lighter than the background.
        stroke: Line width of a glyph as a share of the image side; 0 elsewhere.
        blur: Standard deviation of the final blur in pixels.
        cells: Side of the pixel grid the image was reduced to; 64 means full resolution.
        bold: Whether the strokes were drawn heavy.
    """

    family: Family
    kind: str
    label: str
    ink: str
    ground: str
    light_on_dark: bool
    stroke: float = 0.0
    blur: float = 0.0
    cells: int = SIZE
    bold: bool = False


@dataclass(frozen=True)
class Sample:
    """One rendered 64x64 RGB image and the facts about it."""

    image: Image.Image
    facts: Facts
