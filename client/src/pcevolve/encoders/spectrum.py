"""The bundled encoder with a second view beside its own: how an image's power spreads over spatial frequencies.

Both views are one vector, so a release clips, pays for and blurs both at once, and every proof about embeddings holds
as it stands. What share of a release's budget a view gets is the share of the spread that it has in that vector:
public, by ``WEIGHT``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.encoders import Encoder
from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.pixels import pixel_array
from pcevolve.modality.images.decoding import DecodedImage

SIDE = 64  # pixels
EDGES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33)
"""Of the bands, in cycles per image."""
WEIGHT = 1.6
"""What one natural logarithm of power counts for: on public images, a quarter of the spread is the spectrum's."""
FLOOR = 5e-3
"""Power that rounding to 8 bits has in every band; below it is nothing to see."""


@dataclass(frozen=True, eq=False)
class WithSpectrum:
    """An ``Encoder`` whose embeddings go on with the spectrum.

    Attributes:
        name: The name it was loaded by.
        inner: Embeds first.
        frame: What both make of public images together, where that is known.
    """

    name: str
    inner: Encoder
    frame: PublicFrame | None

    @property
    def dimension(self) -> int:
        """Of the inner encoder, and one for each band."""
        return self.inner.dimension + len(EDGES) - 1

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; a row is NaN throughout where none can be had."""
        spectra = np.array([spectrum(image) for image in images]).reshape(len(images), len(EDGES) - 1)
        rows = np.concatenate([self.inner.embed(images), WEIGHT * spectra], axis=1)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def spectrum(image: DecodedImage | None) -> NDArray[np.float64]:
    """Logarithm of the mean power of an image's luminance in each band, float64 ``(13,)``; NaN if it has no pixels."""
    luminance = pixel_array([image], SIDE)[0].mean(axis=0, dtype=np.float64)
    power = np.square(np.abs(np.fft.fft2(luminance - luminance.mean())))
    return np.log(_sums(power) / _sums(np.ones_like(power)) + FLOOR)


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the frequencies of each band."""
    cycles = np.rint(np.fft.fftfreq(SIDE) * SIDE).astype(np.int64)
    squared = np.square(cycles)[:, None] + np.square(cycles)
    edges = np.square(EDGES)
    edges[-1] -= 1  # the last edge of a histogram belongs to its bin
    return np.histogram(squared, bins=edges, weights=values)[0]
