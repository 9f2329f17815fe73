"""From bytes of anybody's to an RGB image, within bounds; sketches of images, by which copies are found."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve_shared import images

DecodedImage: TypeAlias = Image.Image
"""Pixels in memory. Outside ``modality`` and ``encoders`` it is opaque: carried, counted, never looked into."""

# Whatever Pillow's decoders raise on damaged files; a fuzz test holds this list to its word.
DECODE_ERRORS = (
    *(OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, OverflowError, MemoryError),
    *(struct.error, zlib.error, Image.DecompressionBombError, Image.DecompressionBombWarning),
)
FRAMED_SIDE = 64  # pixels of a framed scan, margin included
INK_SIDE = 48  # pixels of the scan in it; scans touch their border, and glyphs in the world have a margin
SKETCH_SIDE = 16  # pixels
ALIKE = 0.99
"""Least correlation of two sketches of what is taken for one picture. Of 883 pictures of steel, chests and blood no two
pass 0.98; of copies at half the size, at JPEG quality 30 or 15 % brighter 99 in 100 reach it. So do photographs that
one fixed camera takes of one thing."""
PLAIN = 2.0
"""Standard deviation of grey values (0 to 255) below which a sketch shows nothing by which to know it again."""
BLOCK = 2048
"""Sketches that are compared with all others at a time."""

Sketch = NDArray[np.uint8]
"""uint8 ``(256,)``: a quarter of a kilobyte, so that whole folders are compared without being kept in memory."""


def decode_picture(data: bytes) -> DecodedImage | None:
    """Decode received bytes within the wire's limits; None for what is not an image."""
    try:
        return images.decode(data)
    except images.ImageError:
        return None


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


def cut_tiles(sheet: Path, side: int) -> list[DecodedImage]:
    """Cut a sheet of images into its square tiles, RGB, row by row."""
    with Image.open(sheet) as image:
        page = image.convert("RGB")
    corners = ((x, y) for y in range(0, page.height, side) for x in range(0, page.width, side))
    return [page.crop((x, y, x + side, y + side)) for x, y in corners]


def sketch(image: DecodedImage) -> Sketch:
    """Reduce an image to 16 x 16 grey values."""
    small = image.convert("L").resize((SKETCH_SIDE, SKETCH_SIDE), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.uint8).ravel()


def find_alike(sketches: Sequence[Sketch]) -> Iterator[tuple[int, int]]:
    """Find pairs of images that are the same but for compression, scale or brightness, by place, the smaller first."""
    if len(sketches) < 2:
        return
    values = np.stack(sketches).astype(np.float32)
    values -= values.mean(axis=1, keepdims=True)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    values /= np.where(length > PLAIN * SKETCH_SIDE, length, np.inf)
    for start in range(0, len(values), BLOCK):
        # An image is compared with those behind it alone.
        found = np.argwhere(np.triu(values[start : start + BLOCK] @ values[start:].T >= ALIKE, k=1))
        yield from ((start + int(one), start + int(other)) for one, other in found)
