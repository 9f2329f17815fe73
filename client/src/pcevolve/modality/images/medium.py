"""Images as one kind of data: checked, shown, released, compared, and in a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.modality.images.appearance import Appearance
from pcevolve.modality.images.decoding import (
    CHANNELS,
    SIGNATURE_SIDE,
    DecodedImage,
    in_released_encoding,
    is_flat,
    level_gaps,
    picture,
    signature,
    values_in,
)
from pcevolve.modality.images.files import RejectedImageError, read_image
from pcevolve.modality.images.levels import Window
from pcevolve.modality.images.sheet import thumbnail
from pcevolve.modality.medium import (
    FROM_PARQUET,
    CandidateCheck,
    Column,
    Comparison,
    Shown,
    UnreadableError,
)
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import containers, images


class ImageColumn:
    """An image is its file's bytes and name."""

    feature: Mapping[str, str] = {"_type": "Image"}

    def arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """See ``Column.arrow``."""
        import pyarrow as pa

        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    def cell(self, name: str, released: bytes) -> object:
        """See ``Column.cell``."""
        return {"bytes": released, "path": name}


COLUMN: Final = ImageColumn()


MIN_SIDE: Final = 1024
"""Pixels; so large an image may always be, for an API that makes no smaller ones."""
SAME_LEVELS: Final = 2
"""Of 255: fields of two images are the same whose mean colours differ by no more."""
SAME_BUT: Final = 16
"""Of 256 fields: two images are the same that differ in no more; a line of text that a placeholder adds is as long."""


class ImageMedium:
    """A file of a release is a PNG that holds pixels and nothing else."""

    kind: Kind = "image"
    suffix: str = ".png"
    loaders: Mapping[str | None, str] = {
        None: 'torchvision.datasets.ImageFolder(DIR)\ndatasets.load_dataset("imagefolder", data_dir=DIR)',
        "parquet": FROM_PARQUET,
        "webdataset": 'datasets.load_dataset("webdataset", data_dir=DIR)\n'
        'webdataset.WebDataset(sorted(glob.glob(DIR + "/data/*.tar"))).decode("pil").to_tuple("png", "cls")',
    }
    column: Column = COLUMN

    def oversized(self, data: bytes, plan: PublicPlan) -> str:
        """See ``Medium.oversized``: twice each side is let in."""
        asked = plan.images
        width, height = (max(2 * side, MIN_SIDE) for side in (asked.width, asked.height))
        try:
            header = containers.read(data)
        except images.ImageError:
            return ""
        if header.width * header.height <= width * height:
            return ""
        return (
            f"an image of {header.width} x {header.height} pixels "
            f"where {asked.width} x {asked.height} were asked for"
        )

    def check(self, data: bytes) -> CandidateCheck:
        """See ``Medium.check``: an image of one colour cannot be used."""
        image = picture(data)
        if image is None:
            return CandidateCheck("no images", np.empty(0, dtype=np.uint8))
        size = f"{image.width} x {image.height}"
        return CandidateCheck("all of one colour" if is_flat(image) else "", signature(image), size)

    def alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See ``Medium.alike``: all but a few fields have the same colour."""
        gaps = np.abs(kept - signature).reshape(len(kept), SIGNATURE_SIDE**2, CHANNELS).max(axis=2)
        same: NDArray[np.bool_] = (gaps > SAME_LEVELS).sum(axis=1) <= SAME_BUT
        return same

    def shown(self, data: bytes, wanted: Appearance | None = None) -> Shown:
        """See ``Medium.shown``: a small picture."""
        return Shown(jpeg=thumbnail(data, wanted) or b"")

    def opened(
        self, path: Path, wanted: Appearance | None = None, window: Window | None = None
    ) -> DecodedImage:
        """See ``Medium.opened``: any kind of file that a private image may be."""
        try:
            image, _ = read_image(path, window)
        except RejectedImageError as error:
            raise UnreadableError(str(error)) from None
        return image if wanted is None else wanted.apply_to(image)

    def decoded(self, data: bytes, wanted: Appearance | None = None) -> DecodedImage | None:
        """See ``Medium.decoded``."""
        image = picture(data)
        if image is None or is_flat(image):
            return None
        return image if wanted is None else wanted.apply_to(image)

    def released(self, data: bytes, wanted: Appearance | None = None) -> bytes:
        """See ``Medium.released``."""
        image = self.decoded(data, wanted)
        if image is None:
            raise UnreadableError
        return images.encode(image, "png")

    def reopened(self, released: bytes) -> DecodedImage | None:
        """See ``Medium.reopened``; one that its appearance made flat is what it is."""
        return picture(released)

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
