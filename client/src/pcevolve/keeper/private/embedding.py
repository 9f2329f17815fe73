"""Embed private images in small batches, so that few pixels are in memory at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from pcevolve.keeper.private import BATCH_IMAGES
from pcevolve.public.encoders import Encoder
from pcevolve.public.geometry.distances import Embeddings, are_single
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.screen import ProgressCallback
from pcevolve.public.selectors.choosing import Rendition


def embed_images(
    images: Sequence[DecodedImage], encoder: Encoder, rendition: Rendition, show_progress: ProgressCallback
) -> Embeddings:
    """Embed private images in a rendition, ``(images, d)``; rows of unusable images are NaN.

    The result is float64, or float32 if that holds the same numbers, as for most encoders: half the memory.

    Raises:
        DataError: A file is no longer the image that was loaded.
    """
    # zeros, not empty: rows that are still to come are cast too, and uninitialised memory may cause warnings.
    rows: Embeddings = np.zeros((len(images), encoder.dimension), dtype=np.float32)
    for start in range(0, len(images), BATCH_IMAGES):
        batch = slice(start, start + BATCH_IMAGES)
        embedded = encoder.embed(RenditionView(images[batch], rendition))
        # Widened once, when the first batch needs it: rounding float64 to float32 could change which
        # candidate is nearest.
        rows = rows if are_single(embedded) else rows.astype(np.float64, copy=False)
        rows[batch] = embedded
        show_progress(min(start + BATCH_IMAGES, len(images)), len(images))
    return rows


@dataclass(frozen=True, repr=False, eq=False)
class RenditionView(Sequence[DecodedImage]):
    """Images as an encoder is shown them, converted on demand; without a ``rendition``, unchanged."""

    images: Sequence[DecodedImage]
    rendition: Rendition

    def __len__(self) -> int:
        return len(self.images)

    @overload
    def __getitem__(self, place: int) -> DecodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> RenditionView: ...
    def __getitem__(self, place: int | slice) -> DecodedImage | RenditionView:
        if isinstance(place, slice):
            return RenditionView(self.images[place], self.rendition)
        image = self.images[place]
        return image if self.rendition is None else self.rendition.apply_to(image)
