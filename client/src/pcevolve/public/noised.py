"""Noised private images as a release has them, and the one spelling in which they leave. Public once they are paid for.

A measurement holds their pixels, and their files follow from it: PNG with nothing in it but the pixels, uncompressed,
so that a file's bytes depend on no library's version and its length on the size alone. Gate and audit both make the
files from the measurement; neither takes a file from anybody.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Chosen, choices_by_class

Pixels = NDArray[np.uint8]

_NAME: Final = "noised"
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LONGEST_BLOCK: Final = 65_535
"""Bytes of a stored block of deflate."""


def shape_of(plan: PublicPlan) -> tuple[int, ...]:
    """Classes, images of each, height, width and channels of what a plan releases."""
    asked = plan.images
    return (len(plan.labels), plan.prototypes, asked.height, asked.width, 3)


def measurement_of(pixels: Pixels) -> bytes:
    """What is paid for and kept: uint8 ``(classes, images, height, width, 3)`` as safetensors."""
    return save({_NAME: np.ascontiguousarray(pixels)})


def files_in(plan: PublicPlan, measurement: bytes) -> dict[Chosen, bytes]:
    """The images in a measurement: each one's file under its id and digest, class by class in the plan's order.

    Raises:
        ValueError: The measurement is not in the one form that the plan gives it.
    """
    pixels = _pixels(plan, measurement)
    return {
        Chosen(plan.held(label, index), hashlib.sha256(file).hexdigest()): file
        for label, of_class in zip(plan.labels, pixels, strict=True)
        for index, file in enumerate(map(png, of_class))
    }


def choices_of(plan: PublicPlan, measurement: bytes) -> tuple[Choice, ...]:
    """What a receipt says of a measurement: every image of it, for its class.

    Raises:
        ValueError: As for ``files_in``.
    """
    return choices_by_class(plan.labels, list(files_in(plan, measurement)))


def png(pixels: Pixels) -> bytes:
    """The file of uint8 pixels ``(height, width, 3)``."""
    height, width, _ = pixels.shape
    rows = np.zeros(
        (height, 1 + 3 * width), dtype=np.uint8
    )  # each begins with the number of its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = _stored(rows.tobytes())
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _pixels(plan: PublicPlan, measurement: bytes) -> Pixels:
    try:
        found = load(measurement)[_NAME]
    except (SafetensorError, KeyError) as error:
        raise ValueError("the measurement holds no noised images") from error
    if found.dtype != np.uint8 or found.shape != shape_of(plan) or measurement_of(found) != measurement:
        raise ValueError("the measurement's images are not of the plan's size and number")
    return found


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _stored(data: bytes) -> bytes:
    """A zlib stream of blocks that are not compressed."""
    return b"\x78\x01" + b"".join(_blocks(data)) + struct.pack(">I", zlib.adler32(data))


def _blocks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _LONGEST_BLOCK):
        block = data[start : start + _LONGEST_BLOCK]
        last = start + _LONGEST_BLOCK >= len(data)
        yield struct.pack("<BHH", last, len(block), 0xFFFF ^ len(block)) + block
