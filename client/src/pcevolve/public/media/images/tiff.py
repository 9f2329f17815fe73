"""Read the tags of a TIFF: how its values are stored, and which content its first page does not show.

Pillow reads the first page with the channels and values that it supports. It ignores further and nested pages.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from io import BytesIO
from math import prod
from typing import Any, TypeAlias

from PIL import Image
from PIL.TiffImagePlugin import COMPRESSION_INFO, ImageFileDirectory_v2

from pcevolve.public.media.images.decoding import DECODE_ERRORS

# Numbers of tags (TIFF 6.0; 32997 and 32998 describe volumes).
_SUBFILE, _OLD_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 254, 255, 256, 257, 258, 259, 262
_DESCRIPTION, _SAMPLES, _STRIP_BYTES, _X_DENSITY, _Y_DENSITY, _PLANAR = 270, 277, 279, 282, 283, 284
_TILE_BYTES, _SUB_PAGES, _EXTRA, _SAMPLE_FORMAT, _DEPTHS = 325, 330, 338, 339, (32997, 32998)
_WITH_MORE_BEHIND = (
    _SUB_PAGES,
    34665,
    34853,
    34377,
    37724,
)  # sub-pages, EXIF, GPS and Photoshop's data, which may be long
_SAMPLES_OF = {
    0: 1,
    1: 1,
    2: 3,
    3: 1,
    5: 4,
    6: 3,
    8: 3,
    9: 3,
    10: 3,
}  # channels, by photometric interpretation
_WHITE_IS_ZERO, _MASK = 0, 4
_ALPHA = ((1,), (2,))
_REDUCED, _OLD_REDUCED = 1, 2
_APART = 2
_UNPACKED = 1
_TYPE_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_FORMATS = {1: "unsigned", 2: "signed", 3: "floating-point"}
_BIG = 43  # in the header of a BigTIFF, which is longer
_MOST_SUB_PAGES = 16
_MOST_TAGS = 4096
_LEAST_PLANE = 64  # bytes
_WIDE_PLACES = (16, 18)  # types of 8-byte integers
_SAVE = "save each picture that matters as its own file"

Tags: TypeAlias = Any
"""A page's tags by number; Pillow's mapping class has no types."""


def read_tags(data: bytes, place: int | None = None) -> Tags:
    """Return the tags of a page, by default the first (raises one of ``DECODE_ERRORS`` if it is damaged)."""
    tags, file = ImageFileDirectory_v2(data[: 16 if _BIG in data[2:4] else 8]), BytesIO(data)
    file.seek(tags.next if place is None else place)
    tags.load(file)
    return tags


def find_hidden(data: bytes) -> str:
    """Describe the content of a TIFF outside its first page, to follow the file's name; empty if there is none."""
    try:
        return next(filter(None, _list_hidden(data, read_tags(data))), "")
    except DECODE_ERRORS:
        return ""  # the decoder reports the damage


def _list_hidden(data: bytes, tags: Tags) -> Iterator[str]:
    if tags.get(_SUBFILE, 0) & _REDUCED or tags.get(_OLD_SUBFILE) == _OLD_REDUCED:
        yield "begins with a reduced preview of its picture; save the whole picture as its own file"
    if tags.get(_SUBFILE, 0) & 4 or tags.get(_PHOTOMETRIC) == _MASK:
        yield "is TIFF of a mask of another picture; remove it"
    yield _describe_channels(tags)
    planes = max(_count_declared(tags), _count_held(data, tags))
    if planes > 1 and not tags.next:  # ``examine`` counts pages
        yield f"holds {planes} planes behind one another, of which the first page shows one; {_SAVE}"
    places = _find_sub_pages(data)
    if len(places) > _MOST_SUB_PAGES or not all(_is_preview(data, each, tags) for each in places):
        yield f"holds pages within its first page that are no previews of it; {_SAVE}"


def _describe_channels(tags: Tags) -> str:
    """Describe channels other than colours and transparency; empty if there are none."""
    samples = tags.get(_SAMPLES, 1)
    extra = samples - _SAMPLES_OF.get(tags.get(_PHOTOMETRIC, -1), samples)
    # Viewers differ on an unnamed fourth channel: some treat it as transparency, others as infrared, and drop it.
    if extra > 1 or (extra == 1 and tags.get(_EXTRA) not in _ALPHA):
        return f"has {samples} channels, {extra} beside colours and transparency; save those that matter as grey or RGB"
    return ""


def _find_sub_pages(data: bytes) -> tuple[int, ...]:
    """Return the offsets of pages nested in the first page.

    Pillow recognises only some lists of such pages; of other lists it reads only the first entry.
    """
    order, big = "<" if data[:2] == b"II" else ">", _BIG in data[2:4]
    wide, count, entry, value, size = ("Q", "Q", "HHQ", 12, 20) if big else ("L", "H", "HHL", 8, 12)
    (place,) = struct.unpack_from(order + wide, data, 8 if big else 4)
    (tags,) = struct.unpack_from(order + count, data, place)
    place += struct.calcsize(order + count)
    for at in range(place, place + min(tags, _MOST_TAGS) * size, size):
        tag, kind, number = struct.unpack_from(order + entry, data, at)
        if tag == _SUB_PAGES:
            form = f"{order}{min(number, _MOST_SUB_PAGES + 1)}{'Q' if kind in _WIDE_PLACES else 'L'}"
            at += value
            if struct.calcsize(form) > struct.calcsize(order + wide):
                (at,) = struct.unpack_from(order + wide, data, at)
            return struct.unpack_from(form, data, at)
    return ()


def _is_preview(data: bytes, place: int, tags: Tags) -> bool:
    """True if a page is smaller than the first page; False if it cannot be read."""
    try:
        page = read_tags(data, place)
    except DECODE_ERRORS:
        return False
    return _WIDTH in page and bool(page[_WIDTH] * page[_HEIGHT] < tags[_WIDTH] * tags[_HEIGHT])


def _count_declared(tags: Tags) -> int:
    """Count planes by the file's description: a volume's depth, or an ImageJ or tifffile stack."""
    description = str(tags.get(_DESCRIPTION, ""))
    pixels = tags[_WIDTH] * tags[_HEIGHT] * tags.get(_SAMPLES, 1)
    images = (
        re.search(r"^images=(\d{1,9})\s*$", description, re.MULTILINE)
        if description.startswith("ImageJ=")
        else None
    )
    shape = re.match(r'\{"shape": \[([\d, ]{1,200})\]', description)
    return max(
        int(images[1]) if images else 1,
        prod(map(int, shape[1].split(","))) // pixels if shape else 1,
        *(int(tags.get(depth, 1)) for depth in _DEPTHS),
    )


def _count_held(data: bytes, tags: Tags) -> int:
    """Count planes by the bytes of an uncompressed file, because ImageJ, for example, writes one page for a stack."""
    if tags.get(_COMPRESSION, _UNPACKED) != _UNPACKED or any(tag in tags for tag in _WITH_MORE_BEHIND):
        return 1
    bits = tags.get(_BITS, (1,))
    row = -(-tags[_WIDTH] * (sum(bits) if len(bits) > 1 else bits[0] * tags.get(_SAMPLES, 1)) // 8)
    plane = max(1, row * tags[_HEIGHT], sum(tags.get(_TILE_BYTES, ())))
    header = sum(_measure_tag(tags.tagtype[tag], each) for tag, each in tags.items())
    # Up to a quarter of a plane may be other data. Planes that are too small to use are not counted.
    held = (len(data) - header + plane // 4) // plane if plane >= _LEAST_PLANE else 1
    return int(max(1, held, sum(tags.get(_STRIP_BYTES, ())) // plane))


def _measure_tag(kind: int, value: Any) -> int:  # noqa: ANN401 - Pillow has no types of tags' values
    """Return the number of bytes of a tag and its values. More than four bytes of values are stored outside the tag."""
    count = len(value) if isinstance(value, bytes | str | tuple) else 1
    size = count * _TYPE_BYTES.get(kind, 1)
    return 12 + (size if size > 4 else 0)


def is_white_zero(tags: Tags) -> bool:
    """True if high values are dark."""
    return bool(tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO)


def count_bits(tags: Tags) -> int:
    """Return the bits per value."""
    return int(max(tags.get(_BITS, (1,))))


def is_signed(tags: Tags) -> bool:
    """True if values are signed or floating-point."""
    return bool(max(tags.get(_SAMPLE_FORMAT, (1,))) != 1)


def lies_apart(tags: Tags) -> bool:
    """True if each channel is stored as a separate plane."""
    return bool(tags.get(_PLANAR) == _APART and tags.get(_SAMPLES, 1) > 1)


def read_density(tags: Tags) -> tuple[Any, Any]:
    """Return pixels per unit of length, across and down; None where the file does not state it."""
    return tags.get(_X_DENSITY), tags.get(_Y_DENSITY)


def describe_unread(data: bytes) -> str:
    """Describe the compression or values of a TIFF that Pillow cannot read; empty for others."""
    try:
        tags = read_tags(data)
        bits, form = max(tags[_BITS]), max(tags.get(_SAMPLE_FORMAT, (1,)))
    except DECODE_ERRORS:
        return ""
    if tags.get(_COMPRESSION, _UNPACKED) not in COMPRESSION_INFO:
        return "is TIFF compressed in a way that is not read; save it with LZW or without compression"
    try:
        Image.open(BytesIO(data), formats=("TIFF",)).close()
    except DECODE_ERRORS:
        white = ", white as zero," if is_white_zero(tags) else ""
        return (
            f"is TIFF of {bits}-bit {_FORMATS.get(form, 'other')} values{white} which are not read; save it as 16-bit "
            "PNG or as TIFF of 32-bit floating point"
        )
    return ""
