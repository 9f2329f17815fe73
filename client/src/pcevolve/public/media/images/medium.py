"""The image medium: how images are checked, shown, released, and stored in a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve.public.media import FROM_PARQUET, CandidateCheck, RenderedImages, UnreadableError
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
from pcevolve.public.media.images.files import RejectedImageError, read_image
from pcevolve.public.media.images.kinds import HEAD_BYTES, tell_other_format
from pcevolve.public.media.images.levels import Window
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan

CHANNELS: Final = 3
MIN_SIDE: Final = 1024
"""Side in pixels that an image may always have, because some APIs make no smaller images."""
FLAT_LEVELS: Final = 8
"""Number of levels, of 255. An image is of one colour if no channel spans more. Safety filters return such images."""
SIGNATURE_SIDE: Final = 16
"""Number of fields per side of an image. The mean colours of the fields tell images apart."""
SAME_LEVELS: Final = 2
"""Number of levels, of 255, by which the mean colours of two equal fields may differ."""
SAME_BUT: Final = 16
"""Largest number of fields, of 256, in which two equal images may differ. A line of text covers this many."""


class ImageMedium:
    """The image medium. A file of a release is a PNG that holds only pixels.

    Attributes:
        loaders: Python code that loads a release in ``DIR``, by its export format; the key None stands for files in
            class folders.
        feature: Hugging Face's description of the image column in a table.
        card_type: Name of the image type in a card's list of features.
        has_folder_features: True if ``datasets`` defines columns for files in class folders.
    """

    kind: Kind = "image"
    suffix: str = ".png"
    loaders: Mapping[str | None, str] = {
        None: 'torchvision.datasets.ImageFolder(DIR)\ndatasets.load_dataset("imagefolder", data_dir=DIR)',
        "parquet": FROM_PARQUET,
        "webdataset": 'datasets.load_dataset("webdataset", data_dir=DIR)\n'
        'webdataset.WebDataset(sorted(glob.glob(DIR + "/data/*.tar"))).decode("pil").to_tuple("png", "cls")',
    }
    feature: Mapping[str, str] = {"_type": "Image"}
    card_type: str = "image"
    has_folder_features: bool = True

    def arrow_type(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return the Arrow type of the image column; imports pyarrow."""
        import pyarrow as pa

        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    def make_cell(self, name: str, released: bytes) -> object:
        """Return one released file as a value of the column's type."""
        return {"bytes": released, "path": name}

    def describe_oversize(self, data: bytes, plan: PublicPlan) -> str:
        """Return what is wrong with the size of a provider's item, to follow "the API sent"; empty if nothing is.

        Each side may be twice as long as requested. Only the header is read. An undecodable item gets no verdict here.
        """
        from pcevolve_shared import containers

        asked = plan.images
        width, height = (max(2 * side, MIN_SIDE) for side in (asked.width, asked.height))
        try:
            header = containers.read(data)
        except containers.ImageError:
            return ""
        if header.width * header.height <= width * height:
            return ""
        return (
            f"an image of {header.width} x {header.height} pixels "
            f"where {asked.width} x {asked.height} were asked for"
        )

    def check(self, data: bytes) -> CandidateCheck:
        """Check whether a provider's item can be used, and compute its signature; public.

        An image of one colour cannot be used.
        """
        image = decode_picture(data)
        if image is None:
            return CandidateCheck(_describe_unread(data), np.empty(0, dtype=np.uint8))
        fields = image.resize((SIGNATURE_SIDE, SIGNATURE_SIDE), Image.Resampling.BOX)
        fault = "all of one colour" if _is_flat(image) else ""
        signature = np.asarray(fields, dtype=np.uint8).ravel()
        size = f"{image.width} x {image.height}"
        shows = "" if fault else hashlib.sha256(size.encode() + image.tobytes()).hexdigest()
        return CandidateCheck(fault, signature, size, shows)

    def mark_alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mark candidates that equal this one, ignoring text that a provider writes on a placeholder image.

        Returns:
            bool ``(candidates,)``: True if all but a few fields have the same colour.
        """
        differs = np.abs(kept - signature) > SAME_LEVELS
        # By channel, because a reduction over an axis of length three takes ten times as long.
        fields = differs[:, 0::CHANNELS] | differs[:, 1::CHANNELS] | differs[:, 2::CHANNELS]
        same: NDArray[np.bool_] = np.count_nonzero(fields, axis=1) <= SAME_BUT
        return same

    def show(self, data: bytes, wanted: Appearance | None = None) -> RenderedImages:
        """Return a small picture of a provider's item, with the appearance ``wanted`` if one is given."""
        from pcevolve.public.media.images.sheet import make_thumbnail  # deferred: only pages need it

        return RenderedImages(jpeg=make_thumbnail(data, wanted) or b"")

    def blank(self, received: bytes, share: float, seed: int) -> str | None:
        """Return an item to be varied, with some of its words blank, for insertion into a prompt.

        For images this is always None, because images are sent as files.
        """
        return None

    def show_decoded(self, item: DecodedImage) -> RenderedImages:
        """Return a small picture of a decoded image. A private image's picture is for its owner alone."""
        from pcevolve_shared import images

        return self.show(images.encode(item.convert("RGB"), "png"))

    def open(
        self, path: Path, wanted: Appearance | None = None, window: Window | None = None
    ) -> tuple[DecodedImage, bytes]:
        """Read a file of any readable format for an encoder, and return it with its digest for the ledger.

        Args:
            window: The values that become black and white in a grey image; None for the file's own window.

        Raises:
            UnreadableError: The file cannot be read. The message gives the reason, to follow its name.
        """
        try:
            image, digest = read_image(path, window)
        except RejectedImageError as error:
            raise UnreadableError(str(error)) from None
        return image if wanted is None else wanted.apply_to(image), digest

    def decode(self, data: bytes, wanted: Appearance | None = None) -> DecodedImage | None:
        """Decode a provider's item for an encoder; None if ``check`` finds it unusable."""
        image = decode_picture(data)
        if image is None or _is_flat(image):
            return None
        return image if wanted is None else wanted.apply_to(image)

    def encode_release(self, data: bytes, wanted: Appearance | None = None) -> bytes:
        """Encode a provider's item for the release.

        Raises:
            UnreadableError: The item is unusable by ``check``.
        """
        image = self.decode(data, wanted)
        if image is None:
            raise UnreadableError
        from pcevolve_shared import images

        return images.encode(image, "png")

    def decode_release(self, released: bytes) -> DecodedImage | None:
        """Decode a released file for an encoder; None if it is undecodable.

        An image that became flat with its appearance is still usable.
        """
        return decode_picture(released)


def _is_flat(image: DecodedImage) -> bool:
    """True if an RGB image looks like a single colour."""
    spans = cast("tuple[tuple[int, int], ...]", image.getextrema())
    return all(high - low <= FLAT_LEVELS for low, high in spans)


IMAGES: Final = ImageMedium()


def _describe_unread(data: bytes) -> str:
    """Describe why an item is undecodable, to follow "are"."""
    if not data:
        return "withheld"
    if known := tell_other_format(data[:HEAD_BYTES]):
        return f"in {known}, which is not read: ask for PNG"
    from pcevolve_shared import containers  # deferred, here and above: a keeper does not need it

    try:
        containers.read(data)
    except containers.ImageError as error:
        return "animated" if "animated" in str(error) else "unreadable"
    return "unreadable"
