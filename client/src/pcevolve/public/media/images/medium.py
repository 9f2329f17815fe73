"""Images as a medium: checked, shown, released, and in a table."""

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
"""Pixels; an image may always be this large, for APIs that make no smaller ones."""
FLAT_LEVELS: Final = 8
"""Of 255: an image whose channels all span at most this is of one colour, as from a safety filter."""
SIGNATURE_SIDE: Final = 16
"""Fields on a side; their mean colours tell images apart."""
SAME_LEVELS: Final = 2
"""Of 255: fields of two images are equal if their mean colours differ by at most this."""
SAME_BUT: Final = 16
"""Of 256 fields: two images are equal if at most this many differ; a line of text on a placeholder is as long."""


class ImageMedium:
    """The image medium. A file of a release is a PNG with pixels and nothing else.

    Attributes:
        loaders: Python code that loads a release in ``DIR``, by its export format; None for files in class
            folders.
        feature: Hugging Face's description of its column in a table.
        card_type: The name of its type in a card's list of features.
        has_folder_features: Whether ``datasets`` defines columns for files in class folders.
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
        """Return the Arrow type of its column; pyarrow is loaded for it."""
        import pyarrow as pa

        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    def make_cell(self, name: str, released: bytes) -> object:
        """Return one released file, by its name, as a value of that type."""
        return {"bytes": released, "path": name}

    def describe_oversize(self, data: bytes, plan: PublicPlan) -> str:
        """Return the fault of the size of a provider's item, to follow "the API sent"; empty for none.

        Twice each side is allowed. An undecodable item is not judged here, and nothing is decoded.
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
        """Check whether a provider's item can be used, and compute its signature. Public.

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
        """Mark candidates equal to this one, ignoring text that a provider writes on a placeholder image.

        Returns:
            bool ``(candidates,)``: whether all but a few fields have the same colour.
        """
        differs = np.abs(kept - signature) > SAME_LEVELS
        # By channel: a reduction over an axis of three takes ten times as long.
        fields = differs[:, 0::CHANNELS] | differs[:, 1::CHANNELS] | differs[:, 2::CHANNELS]
        same: NDArray[np.bool_] = np.count_nonzero(fields, axis=1) <= SAME_BUT
        return same

    def show(self, data: bytes, wanted: Appearance | None = None) -> RenderedImages:
        """Show a provider's item to people; ``wanted`` is the appearance that it is given first."""
        from pcevolve.public.media.images.sheet import make_thumbnail  # for pages

        return RenderedImages(jpeg=make_thumbnail(data, wanted) or b"")

    def blank(self, received: bytes, share: float, seed: int) -> str | None:
        """Return an item to be varied, with some of its words blanked, for insertion into its prompt.

        Always None here, because images are sent as files.
        """
        return None

    def show_decoded(self, item: DecodedImage) -> RenderedImages:
        """Show a decoded image to people; a private one to its owner alone."""
        from pcevolve_shared import images

        return self.show(images.encode(item.convert("RGB"), "png"))

    def open(
        self, path: Path, wanted: Appearance | None = None, window: Window | None = None
    ) -> tuple[DecodedImage, bytes]:
        """Read a file of any readable format for an encoder, with its digest for the ledger.

        Args:
            window: The values of black and white in a grey image; None for the file's own.

        Raises:
            UnreadableError: The file cannot be read; the text gives the reason, to follow its name.
        """
        try:
            image, digest = read_image(path, window)
        except RejectedImageError as error:
            raise UnreadableError(str(error)) from None
        return image if wanted is None else wanted.apply_to(image), digest

    def decode(self, data: bytes, wanted: Appearance | None = None) -> DecodedImage | None:
        """Decode a provider's item for an encoder; None if it is unusable: see ``check``."""
        image = decode_picture(data)
        if image is None or _is_flat(image):
            return None
        return image if wanted is None else wanted.apply_to(image)

    def encode_release(self, data: bytes, wanted: Appearance | None = None) -> bytes:
        """Return a provider's item in the form in which it is released.

        Raises:
            UnreadableError: It cannot be used: see ``check``.
        """
        image = self.decode(data, wanted)
        if image is None:
            raise UnreadableError
        from pcevolve_shared import images

        return images.encode(image, "png")

    def decode_release(self, released: bytes) -> DecodedImage | None:
        """Decode a released file for an encoder; None if it is undecodable.

        An image that its appearance made flat is usable.
        """
        return decode_picture(released)


def _is_flat(image: DecodedImage) -> bool:
    """True if an RGB image looks as if it had one colour."""
    spans = cast("tuple[tuple[int, int], ...]", image.getextrema())
    return all(high - low <= FLAT_LEVELS for low, high in spans)


IMAGES: Final = ImageMedium()


def _describe_unread(data: bytes) -> str:
    """Describe an undecodable item, to follow "are"."""
    if not data:
        return "withheld"
    if known := tell_other_format(data[:HEAD_BYTES]):
        return f"in {known}, which is not read: ask for PNG"
    from pcevolve_shared import containers  # here and above: what a keeper has no use for

    try:
        containers.read(data)
    except containers.ImageError as error:
        return "animated" if "animated" in str(error) else "unreadable"
    return "unreadable"
