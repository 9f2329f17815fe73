"""Pixels of what a provider sent, and what can go wrong while an image is decoded."""

from __future__ import annotations

import struct
import zlib
from typing import TypeAlias

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


def picture(data: bytes) -> DecodedImage | None:
    """Decode received bytes within the wire's limits; None for what is not an image."""
    try:
        return images.decode(data)
    except images.ImageError:
        return None
