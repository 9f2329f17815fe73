"""The captioner that needs no model: brightness, colour, contrast and texture, in the words of a fixed public list.

It stands in for a captioner where there is none, so that a run of GCap goes from end to end. It knows nothing of what
an image shows, and its figures say nothing about GCap with a real captioner.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media import Item
from pcevolve_benchmarks.pixels import values_of

FloatArray = NDArray[np.float64]
Scale = tuple[tuple[float, str], ...]
"""Words for a number: the first whose bound lies above it."""

SIDE: Final = 64
"""Pixels of the side to which an image is scaled before it is measured."""
LUMINANCE: Final = np.array([0.2126, 0.7152, 0.0722])
"""Shares of red, green and blue in brightness (Rec. 709)."""
COLOURLESS: Final = 0.06
"""Distance of the largest and the smallest mean channel below which there is no colour to name."""
BRIGHTNESS: Final[Scale] = (
    (0.2, "very dark"),
    (0.4, "dark"),
    (0.6, "of medium brightness"),
    (0.8, "bright"),
    (np.inf, "very bright"),
)
CONTRAST: Final[Scale] = ((0.08, "low contrast"), (0.2, "moderate contrast"), (np.inf, "strong contrast"))
TEXTURE: Final[Scale] = ((0.015, "smooth"), (0.05, "softly textured"), (np.inf, "finely textured"))
MIDDLE: Final[Scale] = (
    (-0.08, "darker in the middle"),
    (0.08, "evenly lit"),
    (np.inf, "brighter in the middle"),
)
HUES: Final[Scale] = (
    (15, "red"),
    (45, "orange"),
    (70, "yellow"),
    (160, "green"),
    (200, "cyan"),
    (260, "blue"),
    (300, "purple"),
    (345, "pink"),
    (361, "red"),
)
"""By degrees of the colour circle."""


@dataclass(frozen=True)
class Attributes:
    """A ``Captioner`` that measures."""

    name: str = "measured attributes"

    def captions(self, images: Sequence[Item]) -> list[str]:
        """Five attributes of each image, in words."""
        return [_describe(values_of(each, SIDE, SIDE)) for each in images]


def _describe(values: FloatArray) -> str:
    """Words for pixels, float64 ``(SIDE, SIDE, 3)`` in [0, 1]."""
    light = values @ LUMINANCE
    steps = (np.abs(np.diff(light, axis=0)).mean() + np.abs(np.diff(light, axis=1)).mean()) / 2
    quarter = SIDE // 4
    middle = light[quarter:-quarter, quarter:-quarter].mean()
    return ", ".join(
        (
            _word(BRIGHTNESS, light.mean()),
            f"mostly {_colour(values.mean(axis=(0, 1)))}",
            _word(CONTRAST, light.std()),
            _word(TEXTURE, steps),
            _word(MIDDLE, middle - light.mean()),
        )
    )


def _colour(mean: FloatArray) -> str:
    """The name of a mean colour ``(red, green, blue)``."""
    if np.ptp(mean) < COLOURLESS:
        return "grey"
    hue, _, _ = colorsys.rgb_to_hsv(*map(float, mean))
    return _word(HUES, 360 * hue)


def _word(scale: Scale, number: float) -> str:
    return next(word for bound, word in scale if number < bound)
