"""What selectors see of private images: embeddings and appearances.

All that can be worked out before the provider is greeted is, because how long it takes depends on the images' sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.encoders import Encoder
from pcevolve.errors import DataError
from pcevolve.modality.images.appearance import appearances
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.private.dataset import PrivateDataset
from pcevolve.selectors import PrivateEmbeddings
from pcevolve.selectors.choosing import Rendition


@dataclass(frozen=True, repr=False)
class PrivateViews:
    """Private images through an encoder's eyes; each is embedded once in every rendition.

    Attributes:
        data: The private images.
        encoder: In eval mode; embeds one image at a time.
    """

    data: PrivateDataset
    encoder: Encoder
    _embedded: dict[Rendition, FloatArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "PrivateViews"

    def prepare(self, with_appearances: bool) -> None:
        """Embed the images as they are, and measure each one's appearance if that is going to be released.

        Raises:
            DataError: An image has no embedding.
        """
        self.embeddings(None)
        if with_appearances:
            _ = self.appearances

    def embeddings(self, rendition: Rendition) -> PrivateEmbeddings:
        """Embeddings of the images in a rendition, with classes and units.

        Raises:
            DataError: An image has no embedding.
        """
        if rendition not in self._embedded:
            shown = [image if rendition is None else rendition.given_to(image) for image in self.data.images]
            self._embedded[rendition] = self._usable(shown)
        return PrivateEmbeddings(self._embedded[rendition], self.data.targets, self.data.unit_of)

    @cached_property
    def appearances(self) -> FloatArray:
        """Appearance of each private image, float64 ``(images, 6)``; private."""
        return appearances(self.data.images)

    def _usable(self, shown: Sequence[DecodedImage]) -> FloatArray:
        embedded = self.encoder.embed(shown)
        if not np.isfinite(embedded).all():
            raise DataError(
                f"encoder '{self.encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return embedded
