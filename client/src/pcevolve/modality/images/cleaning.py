"""The released form of an image: pixels and nothing else, in one encoding; and how far another picture is from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcevolve_shared import containers, images

CHANNELS = 3


def values_in(image: bytes) -> int:
    """Pixels times channels of an encoded image, from its header.

    Raises:
        ImageError: Not an image within the limits.
    """
    header = containers.read(image)
    return CHANNELS * header.width * header.height


def level_gaps(one: bytes, other: bytes) -> NDArray[np.int64] | None:
    """How many levels two encoded images lie apart, for each pixel and channel; None if their sizes differ.

    Raises:
        ImageError: One of them is no image within the limits.
    """
    first, second = (np.asarray(images.decode(each), dtype=np.int64) for each in (one, other))
    return np.abs(first - second) if first.shape == second.shape else None


def in_released_encoding(data: bytes) -> bool:
    """Whether an image's bytes are its pixels in the one encoding of a release, and nothing more.

    Raises:
        ImageError: Not an image within the limits.
    """
    return images.encode(images.decode(data)) == data
