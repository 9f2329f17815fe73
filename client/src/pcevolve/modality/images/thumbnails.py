"""Small pictures for pages: pixels that the bounded codec let through, encoded anew; nothing of the original bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageOps

from pcevolve.modality.images.appearance import Appearance, developed

LONGEST_SIDE = 96  # pixels; pages show it at 64, sharp on dense screens
JPEG_QUALITY = 80


def thumbnail(data: bytes, wanted: Appearance | None = None) -> bytes | None:
    """Make a small JPEG of received bytes.

    Args:
        data: What a provider sent.
        wanted: The appearance that it is given before; None for none.

    Returns:
        The encoded picture; None for what is not an image within the wire's limits.
    """
    image = developed(data, wanted)
    if image is None:
        return None
    small = image.copy()
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()


def strip(several: Sequence[bytes], places: int, width: int) -> Image.Image:
    """Images side by side in one small picture, as a terminal shows it; what is no image leaves its place empty.

    Args:
        several: What a provider sent, at most ``places``.
        places: How many squares there are.
        width: Pixels of the whole picture.
    """
    side = width // places
    row = Image.new("RGB", (side * places, side))
    for place, data in enumerate(several):
        image = developed(data, None)
        if image is not None:
            small = ImageOps.contain(image, (side - 1, side - 1), Image.Resampling.LANCZOS)
            row.paste(small, (place * side, 0))
    return row
