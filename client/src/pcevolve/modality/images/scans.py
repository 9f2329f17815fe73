"""Small grey scans, such as handwritten digits of 8x8 pixels, as images of the size that encoders see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve.modality.images.decoding import DecodedImage

FRAMED_SIDE = 64  # pixels of the image, margin included
INK_SIDE = 48  # pixels of the scan in it; scans touch their border, and glyphs in the world have a margin


def framed(levels: NDArray[np.float64], brightest: float) -> DecodedImage:
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
