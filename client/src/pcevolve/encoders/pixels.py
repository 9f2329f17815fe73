"""Pixels as networks take them: the centre square of one image, resized, between 0 and 1; no statistics of a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve.modality.images.decoding import DECODE_ERRORS, DecodedImage


def centre_square(image: DecodedImage) -> DecodedImage:
    """Cut the centre square out of an image and convert it to RGB.

    First, because resizing the short side of a 1 x 10,000 image would take gigabytes.
    """
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side)).convert("RGB")


def to_array(side: int) -> Callable[[DecodedImage], NDArray[np.float32]]:
    """Return a preprocessor: bilinear resize to ``side`` x ``side``, float32 ``(3, side, side)`` in [0, 1]."""

    def preprocess(image: DecodedImage) -> NDArray[np.float32]:
        resized = np.array(image.resize((side, side), Image.Resampling.BILINEAR))
        return np.ascontiguousarray(resized.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)

    return preprocess


def pixel_array(images: Sequence[DecodedImage | None], side: int) -> NDArray[np.float32]:
    """Pixels of many images, float32 ``(images, 3, side, side)`` in 0..1.

    Returns:
        Each image's pixels; NaN throughout for one that cannot be used.
    """
    preprocess = to_array(side)
    pixels = np.full((len(images), 3, side, side), np.nan, dtype=np.float32)
    for index, image in enumerate(images):
        try:
            if image is not None:
                pixels[index] = preprocess(centre_square(image))
        except DECODE_ERRORS:  # a released image is still the provider's bytes
            continue
    return pixels
