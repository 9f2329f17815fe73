"""What selectors see of private images: embeddings and appearances.

All that can be worked out before the provider is greeted is, because how long it takes depends on the images' sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.encoders import Encoder
from pcevolve.errors import DataError
from pcevolve.modality.images.appearance import appearances
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.engine import Engine, LocalEngine
from pcevolve.private.telling import Told, nobody
from pcevolve.selectors import PrivateEmbeddings
from pcevolve.selectors.choosing import Rendition
from pcevolve.selectors.distances import Embeddings


@dataclass(frozen=True, repr=False)
class PrivateViews:
    """Private images through an encoder's eyes; each is embedded once in every rendition.

    Attributes:
        data: The private images.
        encoder: In eval mode; embeds one image at a time.
        caps: What secrets leave each image or text of a vote; None for all of it.
        engine: Where that is done, and the search for nearest candidates; running.
    """

    data: PrivateDataset
    encoder: Encoder
    engine: Engine = field(default_factory=LocalEngine)
    caps: FloatArray | None = None
    _embedded: dict[Rendition, Embeddings] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "PrivateViews"

    def prepare(self, with_appearances: bool, told: Told = nobody) -> None:
        """Embed the images as they are, and measure each one's appearance if that is going to be released.

        Args:
            with_appearances: Whether it is.
            told: Is told how many images are embedded.

        Raises:
            DataError: An image has no embedding.
        """
        self.embeddings(None, told)
        if with_appearances:
            _ = self.appearances

    def embeddings(self, rendition: Rendition, told: Told = nobody) -> PrivateEmbeddings:
        """Embeddings of the images in a rendition, with classes and units.

        Raises:
            DataError: An image has no embedding.
        """
        if rendition not in self._embedded:
            self._embedded[rendition] = self._usable(rendition, told)
        return PrivateEmbeddings(
            self._embedded[rendition],
            self.data.targets,
            self.data.unit_of,
            self.engine.nearest,
            self.caps,
        )

    @cached_property
    def appearances(self) -> FloatArray:
        """Appearance of each private image, float64 ``(images, 6)``; private."""
        return appearances(self.data.items)

    def _usable(self, rendition: Rendition, told: Told) -> Embeddings:
        embedded = self.engine.embedded(self.data.items, self.encoder, rendition, told)
        if not np.isfinite([embedded.min(initial=0.0), embedded.max(initial=0.0)]).all():
            raise DataError(
                f"encoder '{self.encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return embedded
