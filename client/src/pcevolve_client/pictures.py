"""Pixels of what a provider sent."""

from __future__ import annotations

from PIL import Image

from pcevolve_shared import images


def picture(data: bytes) -> Image.Image | None:
    """Decode received bytes within the wire's limits; None for what is not an image."""
    try:
        return images.decode(data)
    except images.ImageError:
        return None
