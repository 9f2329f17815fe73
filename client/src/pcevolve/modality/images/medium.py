"""Images as the other rooms see them."""

from __future__ import annotations

from typing import Final

from pcevolve.modality.images.appearance import Appearance, developed
from pcevolve.modality.images.cleaning import clean_image, in_released_encoding, level_gaps, values_in
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.medium import Comparison, UnreadableError
from pcevolve.public.modalities import Kind
from pcevolve_shared import images


class ImageMedium:
    """A file of a release is a PNG that holds pixels and nothing else."""

    kind: Kind = "image"
    suffix: str = ".png"

    def decoded(self, data: bytes, wanted: Appearance | None = None) -> DecodedImage | None:
        """See ``Medium.decoded``."""
        return developed(data, wanted)

    def released(self, data: bytes, wanted: Appearance | None = None) -> bytes:
        """See ``Medium.released``."""
        try:
            return clean_image(data, wanted)
        except images.ImageError:
            raise UnreadableError from None

    def values(self, released: bytes) -> int:
        """Pixels times channels."""
        return values_in(released)

    def compared(self, found: bytes, expected: bytes, exact: bool) -> Comparison:
        """See ``Medium.compared``: where an appearance was given, one level may be off."""
        try:
            canonical = in_released_encoding(found)
            gaps = level_gaps(found, expected)
        except images.ImageError:
            return Comparison("is no image")
        if gaps is None or gaps.max(initial=0) > int(not exact):
            return Comparison("is not the image that the provider sent")
        if not canonical:
            return Comparison(
                "holds more than its pixels, or holds them in another encoding than this version's"
            )
        return Comparison(rounded=int(gaps.sum()))


IMAGES: Final = ImageMedium()
