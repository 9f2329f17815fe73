"""Decode one private image file within bounds; no directory walks, no network.

An image's pixels depend on its own file alone: there is no normalisation over the set. 16-bit
values are scaled by the range of their type, never by the image's own minimum and maximum, so
that two photographs of one camera stay comparable.

Format and size are read from the header and checked before any pixel is decoded.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from pcevolve.modality.images import kinds
from pcevolve.modality.images.decoding import DECODE_ERRORS, DecodedImage

MAX_FILE_BYTES = 256 * 1024**2
MAX_PIXELS = 64_000_000
STORED_SIDE = 1024  # pixels; larger images are kept in memory at this longest side

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")
# Their first picture is the picture: a phone's MPO is a JPEG with previews behind it, a GIF may be a film.
_FIRST_FRAME_FORMATS = frozenset({"JPEG", "MPO", "GIF"})
_DARK_16_BIT = 4096  # values of a 12-bit sensor end here: on the 16-bit range they are black

_ONE_AT_A_TIME = threading.Lock()
"""Which warnings are shown is decided for all threads of a process at once."""

# At DEBUG level Pillow logs every metadata tag that it reads, patient names included.
logging.getLogger("PIL").setLevel(logging.INFO)


class RejectedImageError(Exception):
    """This file cannot be a private image; the text says why, without naming the file."""


def read_image(path: Path) -> tuple[DecodedImage, bytes]:
    """Decode one file to RGB.

    EXIF orientation is applied and then dropped with all other metadata; transparency is laid
    over white; images with a side above ``STORED_SIDE`` are scaled down after fingerprinting.

    Args:
        path: A PNG, JPEG, TIFF, BMP or WebP file, 8 or 16 bits per channel; a GIF, of which the first frame is
            read; or a DICOM file of one frame, whatever its name, which is shown in its own window.

    Returns:
        The RGB image without metadata, and the digest of its pixels before they were scaled: see ``pixel_digest``.

    Raises:
        RejectedImageError: The file is unreadable, too large, damaged or of no accepted kind.
    """
    data = _read_bounded(path)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's warnings quote metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            rgb = _decode(data)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise RejectedImageError(f"has more than {MAX_PIXELS:,} pixels; scale it down") from None
        except DECODE_ERRORS:
            heic = kinds.is_heic(data)
            raise RejectedImageError(
                kinds.HEIC if heic else "is damaged or not an image; replace or remove it"
            ) from None
    digest = pixel_digest(rgb)
    if max(rgb.size) > STORED_SIDE:
        rgb.thumbnail((STORED_SIDE, STORED_SIDE), Image.Resampling.LANCZOS)
    return rgb, digest


def pixel_digest(image: DecodedImage) -> bytes:
    """SHA-256 of an image's size and RGB pixels, 32 bytes: the same for the same pixels in any lossless format."""
    width, height = image.size
    return hashlib.sha256(b"rgb8 %d %d\n" % (width, height) + image.tobytes()).digest()


def pixel_count(image: DecodedImage) -> int:
    """Pixels that an image takes in memory."""
    return image.width * image.height


def _read_bounded(path: Path) -> bytes:
    if not path.is_file():  # a pipe would block, a dangling link has nothing to read
        raise RejectedImageError("is not a regular file; replace or remove it")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        raise RejectedImageError("cannot be read; check its permissions") from None
    if len(data) > MAX_FILE_BYTES:
        raise RejectedImageError(f"is larger than {MAX_FILE_BYTES // 1024**2} MiB; scale it down")
    return data


def _decode(data: bytes) -> DecodedImage:
    return _decode_dicom(data) if kinds.is_dicom(data) else _decode_usual(data)


def _decode_dicom(data: bytes) -> DecodedImage:
    """Decode with a library that only DICOM needs.

    Raises:
        RejectedImageError: It cannot be decoded.
    """
    from pcevolve.modality.images import dicom

    try:
        return dicom.decoded(data, MAX_PIXELS)
    except dicom.DicomError as error:
        raise RejectedImageError(str(error)) from None


def _decode_usual(data: bytes) -> DecodedImage:
    with Image.open(BytesIO(data), formats=_FORMATS) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise RejectedImageError(f"has {width}x{height} pixels, limit {MAX_PIXELS:,}; scale it down")
        pages = getattr(image, "n_frames", 1)
        if pages > 1 and image.format not in _FIRST_FRAME_FORMATS:
            raise RejectedImageError(f"holds {pages} pages or frames; save each as its own file")
        image.load()
        rgb = _to_rgb(ImageOps.exif_transpose(image))
    return Image.frombytes("RGB", rgb.size, rgb.tobytes())  # a copy that has no metadata


def _to_rgb(image: DecodedImage) -> DecodedImage:
    if image.mode.startswith("I;16"):
        return _from_16_bit(image).convert("RGB")
    if image.mode in {"I", "F"}:
        raise RejectedImageError("has 32-bit pixels; convert it to 8 or 16 bits")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return image.convert("RGB")


def _from_16_bit(image: DecodedImage) -> DecodedImage:
    """Map 0..65535 to 0..255; refuse what would come out black, because guessing a range is worse."""
    values = np.asarray(image).astype(np.uint16)
    if values.max() < _DARK_16_BIT:
        raise RejectedImageError(
            "fills under 1/16 of its 16-bit range and would be black; rescale its values"
        )
    return Image.fromarray(np.rint(values / 257.0).astype(np.uint8))
