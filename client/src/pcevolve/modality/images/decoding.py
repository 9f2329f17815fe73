"""Pixels of what a provider sent, and what can go wrong while an image is decoded."""

from __future__ import annotations

import struct
import zlib
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve_shared import images

DecodedImage: TypeAlias = Image.Image
"""Pixels in memory. Outside ``modality`` and ``encoders`` it is opaque: carried, counted, never looked into."""

# Whatever Pillow's decoders raise on damaged files; a fuzz test holds this list to its word.
DECODE_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


FLAT_LEVELS = 8
"""Of 255: an image in which no channel spans more is of one colour, as a safety filter or a failed decoder sends it."""
SIGNATURE_SIDE = 16
"""Fields on a side, whose mean colours tell an image from another."""


def is_flat(image: DecodedImage) -> bool:
    """Whether an RGB image is all of one colour, to the eye."""
    spans = cast("tuple[tuple[int, int], ...]", image.getextrema())
    return all(high - low <= FLAT_LEVELS for low, high in spans)


def signature(image: DecodedImage) -> NDArray[np.uint8]:
    """Mean colours of an RGB image's fields, uint8 ``(768,)``."""
    fields = image.resize((SIGNATURE_SIDE, SIGNATURE_SIDE), Image.Resampling.BOX)
    return np.asarray(fields, dtype=np.uint8).ravel()


def picture(data: bytes) -> DecodedImage | None:
    """Decode received bytes within the wire's limits; None for what is not an image."""
    try:
        return images.decode(data)
    except images.ImageError:
        return None
