"""Small pictures for pages: pixels that the bounded codec let through, encoded anew; nothing of the original bytes."""

from __future__ import annotations

import base64
import io

from PIL import Image

SIDE = 96  # pixels; shown at 64, sharp on dense screens
JPEG_QUALITY = 80


def jpeg(image: Image.Image) -> bytes:
    """Shrink an image to ``SIDE`` pixels at most and encode it."""
    small = image.copy()
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()


def data_uri(encoded: bytes) -> str:
    """A JPEG as the address of itself."""
    return "data:image/jpeg;base64," + base64.b64encode(encoded).decode("ascii")
