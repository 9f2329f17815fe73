"""Pictures in files, and what is read of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from PIL import Image

from pcevolve.public.media.images.files import RejectedImageError, read_image


def disc(inside, outside, kind=np.uint16):
    rows, columns = np.mgrid[:64, :64]
    return np.where((rows - 32) ** 2 + (columns - 32) ** 2 < 400, inside, outside).astype(kind)


def tiff(values, *, photometric=1, sign=1, order="<", tags=(), behind=b"", place=8):
    """A TIFF by hand: Pillow writes neither signs, nor white as 0 in more than 8 bits, nor other channels and pages.

    Args:
        values: (height, width) or (height, width, channels).
        tags: More of them, each with its type in ``struct`` and its values.
        behind: Bytes between the picture and its tags.
        place: Where in a file it is to lie, with ``order`` for one that lies within another one's.
    """
    height, width, channels = (*values.shape, 1)[:3]
    known = {256: ("L", width), 257: ("L", height), 258: ("H", *[8 * values.dtype.itemsize] * channels)}
    known |= {
        259: ("L", 1),
        262: ("L", photometric),
        273: ("L", place),
        277: ("L", channels),
        278: ("L", height),
    }
    known |= {279: ("L", values.nbytes), 339: ("H", *[sign] * channels), **dict(tags)}
    at = place + values.nbytes + len(behind)
    lists = b""
    directory = struct.pack(f"{order}H", len(known))
    for tag, (kind, *held) in sorted(known.items()):
        form, number = (
            (f"{order}{len(held[0])}s", len(held[0]))
            if kind == "s"
            else (f"{order}{len(held)}{kind}", len(held))
        )
        packed = struct.pack(form, *held)
        if len(packed) > 4:
            packed, lists = struct.pack(f"{order}L", at + len(lists)), lists + packed + bytes(len(packed) % 2)
        directory += struct.pack(f"{order}HHL", tag, {"s": 2, "H": 3, "L": 4}[kind], number) + packed.ljust(
            4, b"\0"
        )
    mark = b"II*\0" if order == "<" else b"MM\0*"
    head = mark + struct.pack(f"{order}L", at + len(lists)) if place == 8 else b""
    return head + values.tobytes() + behind + lists + directory + bytes(4)


def save(path, values):
    Image.fromarray(values).save(path)
    return path


def greys(path, window=None):
    return np.asarray(read_image(path, window)[0])[..., 0].astype(int)


def expect_refusal(path, told, window=None):
    with pytest.raises(RejectedImageError, match=told):
        read_image(path, window)
