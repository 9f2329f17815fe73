"""The bounded image codec of the wire: bytes to clean RGB pixels and back. No files, no pickle.

The sender of an image is not trusted. Every bound is checked on the container before a pixel is decoded,
metadata never reaches a decoder, and every error of a decoder is raised as :class:`ImageError`.
"""

import base64
import binascii
import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from pcevolve_shared import containers, limits
from pcevolve_shared.containers import Header, ImageError, MediaType, media_type

__all__ = [
    "WIRE_LIMITS",
    "ImageError",
    "ImageLimits",
    "MediaType",
    "decode",
    "encode",
    "from_base64",
    "media_type",
    "media_type_or_bytes",
    "to_base64",
]

# The plugins are fixed, because PIL's own detection would accept other formats, such as multi-picture JPEG.
_PLUGINS: Final[dict[MediaType, Callable[[io.BytesIO], ImageFile.ImageFile]]] = {
    "image/png": PngImagePlugin.PngImageFile,
    "image/jpeg": JpegImagePlugin.JpegImageFile,
    "image/webp": WebPImagePlugin.WebPImageFile,
}
# On hostile bytes, PIL's parsers raise these in addition to the documented OSError.
_DECODER_ERRORS: Final = (
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError,
    ArithmeticError, MemoryError, struct.error, zlib.error,
)  # fmt: skip
_DEEP_GREY: Final = {"I", "I;16", "I;16B", "I;16L", "I;16N"}
_JPEG_QUALITY: Final = 95
_FAST_PNG: Final = {"compress_type": zlib.Z_RLE}


@dataclass(frozen=True)
class ImageLimits:
    """The limits of an image's size."""

    max_bytes: int = limits.MAX_IMAGE_BYTES
    max_pixels: int = limits.MAX_PIXELS
    max_side: int = limits.MAX_SIDE


WIRE_LIMITS: Final = ImageLimits()


def media_type_or_bytes(data: bytes) -> str:
    """Return the media type of an image, or the general type of bytes for anything else."""
    try:
        return media_type(data)
    except ImageError:
        return "application/octet-stream"


def decode(data: bytes, limits: ImageLimits = WIRE_LIMITS) -> Image.Image:
    """Return the pixels as RGB, without metadata.

    Transparency is laid over white, and 16-bit grey is scaled to 8 bits. Colour profiles and orientation tags are
    ignored.

    Args:
        data: A still PNG, JPEG or WebP.
        limits: Checked on the container before any pixel is decoded.

    Raises:
        ImageError: The image is too large, of another format, animated, truncated or damaged.
    """
    if len(data) > limits.max_bytes:
        raise ImageError(f"the image has {len(data)} bytes, more than {limits.max_bytes}")
    header = containers.read(data)
    _check_size(header, limits)
    try:
        with _PLUGINS[header.media_type](io.BytesIO(header.payload)) as image:
            if image.size != (header.width, header.height):
                raise ImageError("the image is damaged")
            image.load()
            return _clean(_to_rgb(image))
    except ImageError:
        raise
    except _DECODER_ERRORS as error:
        raise ImageError("the image is damaged") from error


def _check_size(header: Header, limits: ImageLimits) -> None:
    width, height = header.width, header.height
    if width < 1 or height < 1:
        raise ImageError("the image is empty")
    if max(width, height) > limits.max_side or width * height > limits.max_pixels:
        raise ImageError(
            f"the image is {width} x {height}, more than {limits.max_pixels} pixels"
            f" or {limits.max_side} on a side"
        )


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_GREY:
        return image.point(lambda value: value * (1 / 257) + 0.5).convert("L").convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return image.convert("RGB")


def _clean(image: Image.Image) -> Image.Image:
    """Return a copy of the pixels alone. A conversion would keep ``info``, and a later save would write it."""
    clean = Image.new("RGB", image.size)
    clean.paste(image)
    return clean


def encode(
    image: Image.Image, output_format: Literal["png", "jpeg", "webp"] = "png", fast: bool = False
) -> bytes:
    """Return an image file. The same pixels give the same bytes, without metadata and timestamps.

    Args:
        image: Any image. It is converted to RGB.
        output_format: The file's format.
        fast: Compress a PNG by run lengths alone. This takes a fifth to two fifths of the time. Photographs become
            at most an eighth larger, some of them smaller, and grey images up to two thirds larger.
    """
    buffer = io.BytesIO()
    clean = _clean(image.convert("RGB"))
    if output_format == "png":
        clean.save(buffer, "PNG", **(_FAST_PNG if fast else {}))
    elif output_format == "webp":
        clean.save(buffer, "WEBP", lossless=True)
    else:
        clean.save(buffer, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
    return buffer.getvalue()


def to_base64(data: bytes) -> str:
    """Return standard base64 with padding, without line breaks or a data-URL prefix."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str, max_bytes: int = limits.MAX_IMAGE_BYTES) -> bytes:
    """Return the bytes that :func:`to_base64` encodes as ``text``.

    Raises:
        ImageError: The bytes are more than ``max_bytes``, which is checked before decoding, or the text is not
            canonical base64.
    """
    if len(text) > 4 * -(-max_bytes // 3):
        raise ImageError(f"the image has more than {max_bytes} bytes")
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ImageError("not base64") from error
    # Only the canonical spelling is accepted, because unused trailing bits could carry hidden data.
    if to_base64(data) != text:
        raise ImageError("not canonical base64")
    if len(data) > max_bytes:
        raise ImageError(f"the image has more than {max_bytes} bytes")
    return data
