"""From bytes of anybody's to an RGB image, within bounds."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve_shared import containers, images

FRAMED_SIDE = 64  # pixels of the image, margin included
INK_SIDE = 48  # pixels of the scan in it; scans touch their border, and glyphs in the world have a margin


def set_on_black(levels: NDArray[np.float64], brightest: float) -> DecodedImage:
    """Enlarge a scan and set it on black, with a margin.

    Args:
        levels: float64 ``(height, width)``, grey levels from 0, which is black.
        brightest: The level that becomes white.

    Returns:
        RGB, ``FRAMED_SIDE`` x ``FRAMED_SIDE`` pixels.
    """
    grey = Image.fromarray(np.rint(levels * (255.0 / brightest)).astype(np.uint8))
    canvas = Image.new("L", (FRAMED_SIDE, FRAMED_SIDE))
    margin = (FRAMED_SIDE - INK_SIDE) // 2
    canvas.paste(grey.resize((INK_SIDE, INK_SIDE), Image.Resampling.BICUBIC), (margin, margin))
    return canvas.convert("RGB")


def tiles(sheet: Path, side: int) -> list[DecodedImage]:
    """Return the square tiles of a sheet of images, RGB, row by row."""
    with Image.open(sheet) as image:
        page = image.convert("RGB")
    corners = ((x, y) for y in range(0, page.height, side) for x in range(0, page.width, side))
    return [page.crop((x, y, x + side, y + side)) for x, y in corners]


CHANNELS = 3


def values_in(image: bytes) -> int:
    """Pixels times channels of an encoded image, from its header.

    Raises:
        ImageError: Not an image within the limits.
    """
    header = containers.read(image)
    return CHANNELS * header.width * header.height


def level_gaps(one: bytes, other: bytes) -> NDArray[np.int64] | None:
    """Return the levels between two encoded images, for each pixel and channel; None if their sizes differ.

    Raises:
        ImageError: One of them is no image within the limits.
    """
    first, second = (np.asarray(images.decode(each), dtype=np.int64) for each in (one, other))
    return np.abs(first - second) if first.shape == second.shape else None


def in_released_encoding(data: bytes) -> bool:
    """True if an image's bytes are its pixels in the one encoding of a release, and nothing more.

    Raises:
        ImageError: Not an image within the limits.
    """
    return images.encode(images.decode(data)) == data


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
    """True if an RGB image is all of one colour, to the eye."""
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
