"""Read the declarations of a PNG, JPEG or WebP container without decoding a pixel.

Size and animation have to be known *before* a decoder allocates memory. This project does not need metadata, and
parsers of metadata are attack surface. This module therefore reads the containers by their specifications, and
passes on only the bytes that pixels need.

Sources: PNG (ISO/IEC 15948) section 5; JPEG (ITU-T T.81) annex B; WebP (RFC 9649) section 2.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

MediaType = Literal["image/png", "image/jpeg", "image/webp"]
Piece = TypeVar("Piece")

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_PIXELS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
_JPEG_START_OF_FRAME = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers without a length: TEM, restarts and start. Restarts are allowed only in scans. The others are not
# allowed after the start.
_JPEG_NO_LENGTH = {0x01, *range(0xD0, 0xD9)}
_JPEG_NO_FILLING = re.compile(rb"[^\xff]")
# Stuffed zeros, fill bytes and restarts belong to a scan.
_JPEG_SCAN_END = re.compile(rb"\xff(?=[^\x00\xff\xd0-\xd7])")
# APP0 (JFIF) and APP14 (Adobe) define how colours are read. The other APPn and comments are metadata.
_JPEG_METADATA = {*range(0xE1, 0xEE), 0xEF, 0xFE}
# Every scan of a progressive image costs a pass over all pixels, and can be as short as ten bytes.
_JPEG_MOST_SCANS = 64
# Each segment costs a step here and in the decoder, and can be as short as four bytes: 16 MiB could contain
# millions.
_MOST_SEGMENTS = 4096
# Encoders split the pixels into chunks of as little as 256 bytes.
_MOST_PNG_CHUNKS = 2**16
_WEBP_ANIMATED = 0x02


class ImageError(ValueError):
    """The bytes are not an image that the wire admits. The message contains nothing of the image."""


@dataclass(frozen=True)
class Header:
    """A container's declared size, and the bytes that its pixels need."""

    media_type: MediaType
    width: int
    height: int
    payload: bytes


def media_type(data: bytes) -> MediaType:
    """Return the media type that the first bytes show.

    Raises:
        ImageError: The bytes are neither PNG, JPEG nor WebP.
    """
    if data.startswith(_PNG_SIGNATURE):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ImageError("not a PNG, JPEG or WebP image")


def read(data: bytes) -> Header:
    """Read the container of ``data``.

    Raises:
        ImageError: The format is unknown, or the image is damaged, truncated or animated.
    """
    readers = {"image/png": _read_png, "image/jpeg": _read_jpeg, "image/webp": _read_webp}
    try:
        return readers[media_type(data)](data)
    except (struct.error, IndexError) as error:
        raise ImageError("the image is truncated") from error


def _at_most(most: int, pieces: Iterable[Piece]) -> Iterator[Piece]:
    for count, piece in enumerate(pieces):
        if count == most:
            raise ImageError("the image has too many parts")
        yield piece


def _read_png(data: bytes) -> Header:
    width, height = struct.unpack_from(">II", data, 16)
    kept = [_PNG_SIGNATURE]
    for name, chunk in _at_most(_MOST_PNG_CHUNKS, _png_chunks(data)):
        if name == b"acTL":
            raise ImageError("the image is animated")
        if name in _PNG_PIXELS:
            kept.append(chunk)
    return Header("image/png", width, height, b"".join(kept))


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each chunk's type and its bytes, including the checksum, up to IEND."""
    position, name = len(_PNG_SIGNATURE), b""
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if checksum != zlib.crc32(data[position + 4 : end - 4]):
            raise ImageError("the image is damaged")
        if position == len(_PNG_SIGNATURE) and name != b"IHDR":
            raise ImageError("the image is damaged")
        yield name, data[position:end]
        position = end


def _read_jpeg(data: bytes) -> Header:
    size: tuple[int, int] | None = None
    kept = [data[:2]]
    scans = 0
    for marker, start, end in _at_most(_MOST_SEGMENTS, _jpeg_segments(data)):
        if marker in _JPEG_START_OF_FRAME:
            height, width = struct.unpack_from(">HH", data, start + 5)
            # A second frame header could declare another size to the decoder than to this check.
            if size is not None:
                raise ImageError("the image is damaged")
            size = width, height
        scans += marker == 0xDA
        if scans > _JPEG_MOST_SCANS:
            raise ImageError("the image has too many scans")
        if marker not in _JPEG_METADATA:
            kept.append(data[start:end])
    if size is None:
        raise ImageError("the image is damaged")
    return Header("image/jpeg", *size, b"".join(kept))


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield each segment's marker, start and end. A scan's entropy-coded data belongs to its segment."""
    position = 2
    while True:
        if data[position] != 0xFF:
            raise ImageError("the image is damaged")
        position = _find(_JPEG_NO_FILLING, data, position) - 1
        marker, end = data[position + 1], position + 2
        if marker in _JPEG_NO_LENGTH:
            raise ImageError("the image is damaged")
        if marker == 0xD9:
            yield marker, position, end
            return
        (length,) = struct.unpack_from(">H", data, end)
        end += max(length, 2)
        if marker == 0xDA:
            end = _find(_JPEG_SCAN_END, data, end)
        yield marker, position, end
        position = end


def _find(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    found = pattern.search(data, position)
    if found is None:
        raise ImageError("the image is truncated")
    return found.start()


def _read_webp(data: bytes) -> Header:
    (length,) = struct.unpack_from("<I", data, 4)
    end = 8 + length
    if end > len(data):
        raise ImageError("the image is truncated")
    sizes = []
    for name, body in _at_most(_MOST_SEGMENTS, _riff_chunks(data[:end])):
        if name in {b"ANIM", b"ANMF"} or (name == b"VP8X" and body[0] & _WEBP_ANIMATED):
            raise ImageError("the image is animated")
        if name in _WEBP_SIZES:
            sizes.append(_WEBP_SIZES[name](body))
    # The canvas and the frame inside it both declare a size. They must agree, so that the decoder has no
    # choice.
    if not sizes or len(set(sizes)) != 1:
        raise ImageError("the image is damaged")
    return Header("image/webp", *sizes[0], data[:end])


def _riff_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 12
    while position < len(data):
        name, length = struct.unpack_from("<4sI", data, position)
        if position + 8 + length > len(data):
            raise ImageError("the image is truncated")
        yield name, data[position + 8 : position + 8 + length]
        position += 8 + length + length % 2


def _canvas_size(body: bytes) -> tuple[int, int]:
    width, height = int.from_bytes(body[4:7], "little"), int.from_bytes(body[7:10], "little")
    return width + 1, height + 1


def _lossy_size(body: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", body, 6)
    return width & 0x3FFF, height & 0x3FFF


def _lossless_size(body: bytes) -> tuple[int, int]:
    (bits,) = struct.unpack_from("<I", body, 1)
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


_WEBP_SIZES = {b"VP8X": _canvas_size, b"VP8 ": _lossy_size, b"VP8L": _lossless_size}
