"""An encoder that no training changes, for runs on record that later versions have to read; for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcevolve.modality.images.decoding import DecodedImage

SIDE = 3


@dataclass(frozen=True)
class Tones:
    """Embeds an image as the mean colours of nine fields, in 0..1."""

    name: str = "bundled"
    dimension: int = 3 * SIDE * SIDE
    frame: None = None

    def embed(self, images: Sequence[DecodedImage | None]) -> np.ndarray:
        rows = np.full((len(images), self.dimension), np.nan)
        for row, image in zip(rows, images, strict=True):
            if image is not None:
                row[:] = fields(np.asarray(image.convert("RGB"), dtype=np.float64)).ravel() / 255
        return rows


def fields(pixels: np.ndarray) -> np.ndarray:
    """Mean colours of the fields of a grid, float64 ``(SIDE, SIDE, 3)``."""
    bands = [np.array_split(band, SIDE, axis=1) for band in np.array_split(pixels, SIDE, axis=0)]
    return np.array([[field.mean(axis=(0, 1)) for field in band] for band in bands])
