"""Private images that are read again from their files whenever they are looked at, because all do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from pcevolve.errors import DataError
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.files import RejectedImageError, read_image
from pcevolve.modality.images.levels import Window
from pcevolve.private.listing import short


@dataclass(frozen=True, repr=False, eq=False)
class StoredImages(Sequence[DecodedImage]):
    """Images on disk, decoded one at a time; none is kept.

    A file is the image that it was when the data were loaded, or it is refused: what the ledger charges and what is
    embedded are the same pixels.

    Attributes:
        files: Where each image lies.
        digests: SHA-256 of each image's pixels when it was first read; see ``files.pixel_digest``.
        window: What is black and what is white in grey files; None for what each says itself.
    """

    files: tuple[Path, ...]
    digests: tuple[bytes, ...]
    window: Window | None = None

    def __repr__(self) -> str:
        """Nothing about the images, their number included."""
        return "StoredImages"

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, place: int) -> DecodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> StoredImages: ...
    def __getitem__(self, place: int | slice) -> DecodedImage | StoredImages:
        """Read one image, or name some.

        Raises:
            DataError: The file has changed since it was first read, or is gone.
        """
        if isinstance(place, slice):
            return StoredImages(self.files[place], self.digests[place], self.window)
        image = read_unchanged(self.files[place], self.digests[place], self.window)
        if image is None:
            raise change_error([self.files[place]])
        return image

    def __iter__(self) -> Iterator[DecodedImage]:
        return (self[place] for place in range(len(self)))

    def some(self, places: Sequence[int]) -> StoredImages:
        """The images at some places, in that order."""
        files, digests = [self.files[each] for each in places], [self.digests[each] for each in places]
        return StoredImages(tuple(files), tuple(digests), self.window)


def read_unchanged(file: Path, digest: bytes, window: Window | None) -> DecodedImage | None:
    """Read an image again; None where its pixels are no longer what they were.

    Args:
        file: Where it lies.
        digest: Of its pixels when it was first read.
        window: What is black and what is white in it, if it is grey; None for what it says itself.
    """
    try:
        image, found = read_image(file, window)
    except RejectedImageError:
        return None
    return image if found == digest else None


def change_error(files: Sequence[Path]) -> DataError:
    """The error about files that changed under the run; it names up to five."""
    named = ", ".join(short(file) for file in files[:5])
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    return DataError(f"private data: {named}{more} changed or went away while they were read: run again")
