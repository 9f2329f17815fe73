"""Arrays of pixels as files."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image


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
