"""Decode one private image file within bounds, as a viewer shows it. No function walks folders or uses the network.

An image's pixels depend only on its file and the public window; nothing is normalised over the set. ``levels`` maps
grey values to levels. As in viewers, a file's ICC profile is applied, and the gamma of a PNG that has no profile is
ignored. Format and size are read from the header, and checked before any pixel is decoded.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
import warnings
from dataclasses import dataclass
from io import BytesIO
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps

from pcevolve.public.media.images import kinds
from pcevolve.public.media.images.decoding import DECODE_ERRORS, DecodedImage
from pcevolve.public.media.images.levels import (
    ContrastError,
    Grey,
    Seen,
    Window,
    is_grey,
    make_grey,
    require_seen,
    to_rgb,
)

MAX_FILE_BYTES = 256 * 1024**2
MAX_PIXELS = 64_000_000
STORED_SIDE = 1024  # pixels; larger images are kept in memory at this longest side

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")
# Use the first picture of a phone's MPO, which is a JPEG followed by previews. Films and multi-page files are
# refused.
_FIRST_FRAME_FORMATS = frozenset({"JPEG", "MPO"})
_LEAST_SIDE = 8  # pixels
_MOST_RATIO = 20  # of the sides; encoders resize to squares, in which a narrower strip is smeared
_LEAST_ALPHA = 8  # of 255; an image that is nowhere more opaque than this shows nothing
_COUNTED_BYTES = 65_536  # pages of a larger file are not counted: a million pages would take hours
_MOST_TALL, _LEAST_TALL = 10, 1.01  # ratios of a pixel's sides
_MP_ENTRIES = 0xB002  # tag of the list of a JPEG's pictures
_X_DENSITY, _Y_DENSITY, _ORIENTATION, _LYING = (
    282,
    283,
    274,
    (5, 6, 7, 8),
)  # tags and rotated orientations of EXIF
_GIF_ASPECT = 12  # index of the byte
_PNG_BIT_DEPTH = 24  # index of the byte, after signature, length, name and size
_ONE_AT_A_TIME = threading.Lock()
"""Guards Python's warning filters, which all threads of a process share."""

# At DEBUG level, Pillow logs every metadata tag that it reads, patient names included.
logging.getLogger("PIL").setLevel(logging.INFO)


class RejectedImageError(Exception):
    """This file cannot be a private image; the message states the reason. ``seen`` is for the owner's screen alone."""

    def __init__(self, message: str, seen: Seen | None = None) -> None:
        super().__init__(message)
        self.seen = seen


@dataclass(frozen=True, repr=False, eq=False)
class Examined:
    """One private image, and the levels seen in it.

    Attributes:
        image: RGB without metadata, at most ``STORED_SIDE`` pixels per side.
        digest: SHA-256 of the stored values; see ``digest_pixels``.
        seen: The mapping that is used to show the image, and the range of its levels.
    """

    image: DecodedImage
    digest: bytes
    seen: Seen


def read_image(path: Path, window: Window | None = None) -> tuple[DecodedImage, bytes]:
    """Decode one file to RGB; return the image and its digest from ``examine``."""
    found = examine(path, window)
    return found.image, found.digest


def examine(path: Path, window: Window | None = None) -> Examined:
    """Decode one file to RGB, and measure its levels.

    EXIF orientation is applied, and then dropped with all other metadata. Transparency is composed over white. An
    image with a side above ``STORED_SIDE`` is scaled down after its digest is computed.

    Args:
        path: A PNG, JPEG, TIFF, BMP, WebP or GIF file of one frame with 8 or 16 bits per channel; or a DICOM file
            of one frame, which is shown with its own window. The file's name does not matter.

    Raises:
        RejectedImageError: The file is unreadable, too large, damaged or of another format; holds several
            pictures; is too small or too narrow; or would be shown without its contrast.
    """
    data = _read_bounded(path)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's warnings quote metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            is_dicom = kinds.is_dicom(data)
            stored, tall = _decode_dicom(data, window is None) if is_dicom else _decode_usual(data)
            rgb, digest, seen = _show(stored, window)
        except ContrastError as error:
            raise RejectedImageError(str(error), error.seen) from None
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise RejectedImageError(f"has more than {MAX_PIXELS:,} pixels; scale it down") from None
        except DECODE_ERRORS:
            head = data[: kinds.HEAD_BYTES]
            unread = _tiff().describe_unread(data) if kinds.tell_format(head) == "TIFF" else ""
            raise RejectedImageError(unread or kinds.describe_misnamed(head)) from None
    size = _square_pixels(*rgb.size, tall)
    _require_usable_size(*size)
    scale = min(1.0, STORED_SIDE / max(size))
    kept = (max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))
    return Examined(rgb if kept == rgb.size else rgb.resize(kept, Image.Resampling.LANCZOS), digest, seen)


def _square_pixels(width: int, height: int, tall: float) -> tuple[int, int]:
    """Return the size of a picture after its pixels are made square by stretching it in one direction.

    Args:
        tall: The ratio of a pixel's height to its width.
    """
    if not 1 / _MOST_TALL <= tall <= _MOST_TALL:
        raise RejectedImageError(
            f"says that its pixels are {tall:g} times as high as wide; stretch it, or save it without a resolution"
        )
    if 1 / _LEAST_TALL <= tall <= _LEAST_TALL:
        return width, height
    return (width, round(height * tall)) if tall > 1 else (round(width / tall), height)


def _require_usable_size(width: int, height: int) -> None:
    """Refuse a picture that is too small, or too narrow for encoders, which expect squares."""
    short, long = sorted((width, height))
    if short < _LEAST_SIDE:
        raise RejectedImageError(
            f"has {width}x{height} pixels, and a side needs at least {_LEAST_SIDE}; replace or remove it"
        )
    if long > _MOST_RATIO * short:
        raise RejectedImageError(
            f"has {width}x{height} pixels, one side {long // short} times the other, and encoders look at squares; "
            "crop it, or cut it into pieces"
        )


def digest_pixels(image: DecodedImage) -> bytes:
    """Return the SHA-256 of an image's size and RGB pixels, 32 bytes. Any lossless format gives the same digest.

    For a private file, the digest covers the stored values instead of the shown values. The privacy budget belongs to
    the data, and another window, look-up table or colour profile does not make them other data.
    """
    width, height = image.size
    return hashlib.sha256(b"rgb8 %d %d\n" % (width, height) + image.tobytes()).digest()


def count_pixels(image: DecodedImage) -> int:
    """Return the number of pixels that an image occupies in memory."""
    return image.width * image.height


def _read_bounded(path: Path) -> bytes:
    if not path.is_file():  # a pipe would block, and a dangling link has no content
        known = os.path.lexists(path)
        raise RejectedImageError("is not a regular file; replace or remove it" if known else "does not exist")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        raise RejectedImageError("cannot be read; check its permissions") from None
    if len(data) > MAX_FILE_BYTES:
        raise RejectedImageError(f"is larger than {MAX_FILE_BYTES // 1024**2} MiB; scale it down")
    return data


@dataclass(frozen=True, repr=False, eq=False)
class _Colours:
    """A picture that is shown with the levels in its file, unless a window maps its grey values.

    Attributes:
        shown: The picture in sRGB.
        inverted: True if high values of the file are dark.
    """

    image: DecodedImage
    shown: DecodedImage
    bits: int = 8
    inverted: bool = False


def _show(stored: Grey | _Colours, window: Window | None) -> tuple[DecodedImage, bytes, Seen]:
    """Return RGB as a viewer shows it, the digest of the stored values, and the levels seen.

    Raises:
        ContrastError: Almost nothing would be visible.
        RejectedImageError: The window does not apply to this picture.
    """
    if isinstance(stored, Grey):
        levels, seen = stored.show(window)
        return to_rgb(levels), _grey_digest(stored), seen
    digest = digest_pixels(stored.image)
    if window is None:
        seen = require_seen(stored.image, stored.bits)
        return stored.shown, digest, seen
    if stored.bits > 8 or not is_grey(stored.image):
        kind = f"of {stored.bits} bits in several channels" if stored.bits > 8 else "a colour image"
        raise RejectedImageError(
            f"is {kind}, and data.window is for grey values: leave it out, or convert the image"
        )
    levels, seen = make_grey(stored.image, stored.bits, stored.inverted).show(window)
    return to_rgb(levels), digest, seen


def _grey_digest(grey: Grey) -> bytes:
    """Return the SHA-256 of the stored values. Of 8-bit values, this is the digest of any 8-bit picture with them."""
    values = grey.stored
    if values.dtype.kind != "f" and values.min() >= 0 and values.max() <= 255 and grey.bits <= 8:
        return digest_pixels(to_rgb(values.astype(np.uint8)))
    height, width = values.shape
    plain = values.astype("<f8" if values.dtype.kind == "f" else "<i8")
    return hashlib.sha256(b"grey %d %d\n" % (width, height) + plain.tobytes()).digest()


def _in_srgb(image: DecodedImage, profile: bytes) -> DecodedImage:
    """Convert a picture to sRGB by its profile; only to RGB if the profile is damaged or of another kind."""
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        shown = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, *DECODE_ERRORS):
        shown = None
    return _bare(shown or image.convert("RGB"))


def _tiff() -> ModuleType:
    """Import the TIFF module, which few folders need."""
    from pcevolve.public.media.images import tiff

    return tiff


def _decode_dicom(data: bytes, by_itself: bool) -> tuple[Grey | _Colours, float]:
    """Decode DICOM, importing its library only here (``RejectedImageError`` on failure)."""
    from pcevolve.public.media.images import dicom
    from pcevolve.public.media.images.dicom_grey import DicomError

    try:
        found, tall = dicom.decode(data, MAX_PIXELS, MAX_FILE_BYTES, by_itself)
    except DicomError as error:
        raise RejectedImageError(str(error)) from None
    return found if isinstance(found, Grey) else _Colours(found, found), tall


def _decode_usual(data: bytes) -> tuple[Grey | _Colours, float]:
    """Return a picture, and the ratio of its pixels' height to their width."""
    if kinds.tell_format(data[: kinds.HEAD_BYTES]) == "TIFF" and (fault := _tiff().find_hidden(data)):
        raise RejectedImageError(fault)
    with Image.open(BytesIO(data), formats=_FORMATS) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise RejectedImageError(f"has {width}x{height} pixels, limit {MAX_PIXELS:,}; scale it down")
        if getattr(image, "is_animated", False) and image.format not in _FIRST_FRAME_FORMATS:
            pages = getattr(image, "n_frames", 1) if len(data) <= _COUNTED_BYTES else "several"
            raise RejectedImageError(f"holds {pages} pages or frames; save each that matters as its own file")
        if any(
            str(each["Attribute"]["MPType"]).startswith("Multi-Frame") for each in _list_companions(image)
        ):
            raise RejectedImageError(
                "holds several views or pieces of a panorama; save each that matters as its own file"
            )
        bits, signed, inverted = _sample_bits(image, data)
        tall = _measure_pixel(image, data)
        # Everything before this line reads only the header; pixels are decoded here.
        image.load()
        turned = ImageOps.exif_transpose(image)
        if signed and turned.mode == "L":
            return _grey(np.asarray(turned).view(np.int8), 8, signed, inverted), tall
        bits = bits if bits > 8 or turned.mode in {"1", "L"} else 8  # colours of a palette have 8
        if turned.mode in {"I", "F"} or turned.mode.startswith("I;16"):
            if "transparency" in turned.info:
                raise RejectedImageError(
                    "has a transparent value among those of 16 bits; save it without transparency"
                )
            return _grey(np.asarray(turned), bits, signed, inverted), tall
        rgb, profile = _bare(_to_rgb(turned)), image.info.get("icc_profile")
        own = turned if turned.mode in {"L", "CMYK"} else rgb  # the picture that the profile describes
        return _Colours(rgb, _in_srgb(own, profile) if profile else rgb, bits, inverted), tall


def _list_companions(image: Image.Image) -> list[dict[str, Any]]:
    """List the further pictures in a JPEG by its camera's index (CIPA DC-007); empty for other files."""
    return list(getattr(image, "mpinfo", {}).get(_MP_ENTRIES, ()))


def _measure_pixel(image: Image.Image, data: bytes) -> float:
    """Return the ratio of a pixel's height to its width after orientation is applied; 1 if unknown."""
    exif = image.getexif()
    density: tuple[Any, Any] | None
    if image.format == "TIFF":
        tiff = _tiff()
        density = tiff.read_density(tiff.read_tags(data))
    elif image.format == "GIF":  # the byte 49 means 1:1, and 0 means unknown (GIF89a, 18)
        density = (64, data[_GIF_ASPECT] + 15) if data[_GIF_ASPECT] else None
    else:
        density = image.info.get("jfif_density") or image.info.get("aspect") or image.info.get("dpi")
    # Pixels per unit of length, across and down. EXIF may hold values of any type.
    across, down = (
        float(each) if isinstance(each, Real) else 0.0
        for each in density or (exif.get(_X_DENSITY), exif.get(_Y_DENSITY))
    )
    if not (0 < across < math.inf and 0 < down < math.inf):
        return 1.0
    return down / across if exif.get(_ORIENTATION) in _LYING else across / down


def _bare(image: DecodedImage) -> DecodedImage:
    """Copy an RGB image without its metadata."""
    return Image.frombytes("RGB", image.size, image.tobytes())


def _sample_bits(image: DecodedImage, data: bytes) -> tuple[int, bool, bool]:
    """Return the bits per value in the file, whether values are signed, and whether high values are dark."""
    if image.format == "PNG":
        return data[_PNG_BIT_DEPTH], False, False
    if image.format != "TIFF":
        return 8, False, False
    tiff = _tiff()
    tags = tiff.read_tags(data)
    bits = tiff.count_bits(tags)
    if bits > 8 and tiff.lies_apart(tags):  # Pillow would read them as 8 bits
        raise RejectedImageError(f"is TIFF of {bits} bits whose channels lie apart; save it as PNG")
    return bits, tiff.is_signed(tags), tiff.is_white_zero(tags)


def _grey(values: NDArray[np.generic], bits: int, signed: bool, inverted: bool) -> Grey:
    """Return grey values of more than 8 bits, which Pillow does not scale."""
    half = 2.0 ** (bits - 1)
    whole = (-half, half - 1) if signed else (0.0, 2 * half - 1)
    known = values.dtype.kind != "f" and bits <= 16  # no device uses the full range of 32 bits
    values = values.view(np.uint32) if values.dtype == np.int32 and bits == 32 and not signed else values
    return Grey(values, values.astype(np.float64), bits, whole if known else None, inverted=inverted)


def _to_rgb(image: DecodedImage) -> DecodedImage:
    if image.mode == "LAB":
        lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        return ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB") or image
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        if np.asarray(layer.getchannel("A")).max() < _LEAST_ALPHA:
            raise RejectedImageError("is fully transparent; save it without its alpha channel, or remove it")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return image.convert("RGB")
