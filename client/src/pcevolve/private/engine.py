"""The heavy work on private images: their embeddings, and the search for each one's nearest candidates.

An engine changes where and how fast, never what: what it returns is the same bit for bit. It draws no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, overload

import numpy as np

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.encoders import Encoder
from pcevolve.geometry.distances import Embeddings, IntArray, are_single, nearest_of_some
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.private import BATCH_IMAGES, ProgressCallback
from pcevolve.selectors.choosing import Rendition


class Engine(Protocol):
    """Computes on private images; see ``LocalEngine``."""

    def running(self, scratch: Path) -> AbstractContextManager[None]:
        """Hold whatever the engine needs.

        Args:
            scratch: Folder that only the owner may read, for what the engine must write; it is gone afterwards.

        Raises:
            UsageError: The engine cannot be had.
        """
        ...

    def embed(
        self, images: Sequence[DecodedImage], encoder: Encoder, rendition: Rendition, told: ProgressCallback
    ) -> Embeddings:
        """Embed private images in a rendition, ``(images, d)``; a row is NaN where none can be had.

        In float64, or in float32 where that holds the same numbers, as it does for most encoders: half the memory.

        Raises:
            DataError: A file is no longer the image that was loaded.
        """
        ...

    def find_nearest(
        self, points: Embeddings, places: IntArray, candidates: FloatArray, count: int = 1
    ) -> IntArray:
        """The nearest candidates of some private images; see ``geometry.distances.nearest_of_some``."""
        ...


@dataclass(frozen=True)
class LocalEngine:
    """This process: every thread embeds one image at a time, and no more pixels are held than that."""

    def running(self, scratch: Path) -> AbstractContextManager[None]:
        """Needs nothing."""
        return nullcontext()

    def embed(
        self, images: Sequence[DecodedImage], encoder: Encoder, rendition: Rendition, told: ProgressCallback
    ) -> Embeddings:
        """See ``Engine.embed``."""
        # zeros, since rows that are still to come are cast too, and memory that nobody wrote may hold what warns then
        rows: Embeddings = np.zeros((len(images), encoder.dimension), dtype=np.float32)
        for start in range(0, len(images), BATCH_IMAGES):
            batch = slice(start, start + BATCH_IMAGES)
            embedded = encoder.embed(Shown(images[batch], rendition))
            # Widened once, when the first batch needs it: float32 of float64 numbers would move who is nearest.
            rows = rows if are_single(embedded) else rows.astype(np.float64, copy=False)
            rows[batch] = embedded
            told(min(start + BATCH_IMAGES, len(images)), len(images))
        return rows

    def find_nearest(
        self, points: Embeddings, places: IntArray, candidates: FloatArray, count: int = 1
    ) -> IntArray:
        """See ``Engine.find_nearest``."""
        return nearest_of_some(points, places, candidates, count)


@dataclass(frozen=True, repr=False, eq=False)
class Shown(Sequence[DecodedImage]):
    """Images as an encoder is shown them, made when asked for; without a ``rendition``, in their own appearance."""

    images: Sequence[DecodedImage]
    rendition: Rendition

    def __repr__(self) -> str:
        """Nothing about the images, their number included."""
        return "Shown"

    def __len__(self) -> int:
        return len(self.images)

    @overload
    def __getitem__(self, place: int) -> DecodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> Shown: ...
    def __getitem__(self, place: int | slice) -> DecodedImage | Shown:
        if isinstance(place, slice):
            return Shown(self.images[place], self.rendition)
        image = self.images[place]
        return image if self.rendition is None else self.rendition.apply_to(image)
