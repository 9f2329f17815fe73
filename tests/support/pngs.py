"""PNG files put together by hand: what they declare need not be what they hold."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image

SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB = 2


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk with its length and its checksum."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def raw_png(
    width: int,
    height: int,
    pixels: bytes,
    extra: bytes = b"",
    depth: int = 8,
    colour: int = RGB,
    interlaced: int = 0,
) -> bytes:
    """A file of a header, more chunks, a compressed stream of scan lines, and its end."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return SIGNATURE + chunk(b"IHDR", header) + extra + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


FORMATS = ["PNG", "JPEG", "WEBP"]


def picture(width=24, height=16):
    return Image.effect_noise((width, height), 60).convert("RGB")


def save(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()
