"""Pixels: arrays as files, values as levels, pictures in other colours."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from pcevolve.public.media.images.decoding import DecodedImage


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of uint8 pixels ``(height, width)`` or ``(height, width, 3)``.

    Raises:
        ValueError: They have another type or shape.
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise ValueError(f"{pixels.dtype} {pixels.shape} are no pixels of a grey or RGB image")
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
    return buffer.getvalue()


def values_of(image: DecodedImage, width: int, height: int) -> NDArray[np.float64]:
    """The values of an image that is given a size: float64 ``(height, width, 3)`` in [0, 1]."""
    resized = image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(resized, dtype=np.float64) / 255


def levels(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Values as the nearest levels of a picture; those outside [0, 1] become the nearest of them."""
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)


def with_saturation(image: Image.Image, factor: float) -> Image.Image:
    """Multiply the distance of a picture's colours from grey: 0 is grey, 1 as it is."""
    return ImageEnhance.Color(image).enhance(factor)


def paint(image: Image.Image) -> Image.Image:
    """A grey picture in colours: orange where it is light, blue where it is dark."""
    return ImageOps.colorize(image.convert("L"), (40, 60, 160), (230, 120, 60))
