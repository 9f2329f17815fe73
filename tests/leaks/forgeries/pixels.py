"""Released images with more, or with others, in them than the provider sent."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from leaks.forgeries.forging import SECRET, Act, Forgery, Row, forged
from pcevolve_shared import images
from support.forge import reissue
from support.pngs import SIGNATURE, chunk, raw_png
from support.provider import png

ANOTHER = r"release/(cut|good)/.*\.png is not what the record gives"
Change = Callable[[bytes], bytes]
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
"""First row, first column, rows and columns between two pixels of each pass of an interlaced PNG."""


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of a PNG's chunks."""
    at = len(SIGNATURE)
    while at < len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += length + 12


def assemble(parts: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A PNG of these chunks."""
    return SIGNATURE + b"".join(chunk(*part) for part in parts)


def with_chunk(name: bytes, content: bytes, before: bytes = b"IDAT") -> Change:
    """One more chunk."""

    def change(data: bytes) -> bytes:
        parts = list(chunks(data))
        parts.insert([each for each, _ in parts].index(before), (name, content))
        return assemble(parts)

    return change


def with_scanlines(change: Change, level: int = 6) -> Change:
    """Other scan lines under the same header."""

    def act(data: bytes) -> bytes:
        header, whole, end = (content for _, content in chunks(data))
        lines = zlib.compress(change(zlib.decompress(whole)), level)
        return assemble([(b"IHDR", header), (b"IDAT", lines), (b"IEND", end)])

    return act


def split_idat(data: bytes) -> bytes:
    header, whole, end = (content for _, content in chunks(data))
    return assemble([(b"IHDR", header), (b"IDAT", whole[:17]), (b"IDAT", whole[17:]), (b"IEND", end)])


def pixels_of(data: bytes) -> np.ndarray:
    return np.asarray(images.decode(data))


def rows_of(pixels: np.ndarray) -> bytes:
    """Unfiltered scan lines."""
    return b"".join(b"\0" + row.tobytes() for row in pixels)


def deep(data: bytes) -> bytes:
    """16 bits per channel, of which a viewer shows the first eight; the others are the secret."""
    low = np.resize(np.frombuffer(SECRET, np.uint8), pixels_of(data).shape)
    both = np.stack([pixels_of(data), low], axis=-1).reshape(len(low), -1)
    return raw_png(*images.decode(data).size, zlib.compress(rows_of(both)), depth=16)


def interlace(data: bytes) -> bytes:
    pixels = pixels_of(data)
    lines = b"".join(rows_of(pixels[y::down, x::across]) for y, x, down, across in ADAM7)
    return raw_png(*images.decode(data).size, zlib.compress(lines), interlaced=1)


def saved(mode: str | None = None, kind: str = "PNG", **options: object) -> Change:
    """Saves the picture as another program would."""

    def change(data: bytes) -> bytes:
        image, buffer = images.decode(data), io.BytesIO()
        (image if mode is None else image.convert(mode)).save(buffer, kind, **options)
        return buffer.getvalue()

    return change


def in_palette(data: bytes) -> bytes:
    """Gives each pixel a number in place of its colour: the palette's order can say something."""
    pixels = pixels_of(data)
    colours, numbers = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    image = Image.fromarray(numbers.reshape(pixels.shape[:2]).astype(np.uint8), "P")
    image.putpalette(colours.astype(np.uint8).tobytes())
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def in_lowest_bits(data: bytes) -> bytes:
    """The secret in the lowest bit of every value."""
    pixels = pixels_of(data)
    bits = np.resize(np.unpackbits(np.frombuffer(SECRET, np.uint8)), pixels.shape)
    return images.encode(Image.fromarray(pixels & 0xFE | bits))


def moved_by(levels: int, values: int = 1) -> Change:
    """The first values of an image, each some levels from where it was."""

    def change(data: bytes) -> bytes:
        flat = pixels_of(data).astype(int).reshape(-1)
        flat[:values] += np.where(flat[:values] < 128, levels, -levels)
        return images.encode(Image.fromarray(flat.reshape(pixels_of(data).shape).astype(np.uint8)))

    return change


def resized(data: bytes) -> bytes:
    return images.encode(images.decode(data).resize((17, 16)))


def of_class(root: Path, label: str = "cut") -> list[Path]:
    return sorted((root / "release" / label).iterdir())


def altered(*changes: Change) -> Act:
    """The first images of a class changed, one by each change, and everything else made to fit."""

    def act(root: Path) -> None:
        for path, change in zip(of_class(root), changes, strict=False):
            before = path.read_bytes()
            path.write_bytes(change(before))
            if path.read_bytes() == before:
                raise ValueError("that is the honest image")
        reissue(root)

    return act


def swapped(root: Path) -> None:
    first, second = of_class(root)[:2]
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    reissue(root)


def of_another_class(root: Path) -> None:
    of_class(root)[0].write_bytes(of_class(root, "good")[0].read_bytes())
    reissue(root)


def of_an_earlier_round(root: Path) -> None:
    """An image that the provider did send, and that is not in the dataset."""
    released = {pixels_of(path.read_bytes()).tobytes() for path in (root / "release").glob("*/*.png")}
    received = (path.read_bytes() for path in (root / "transcript" / "bodies").iterdir())
    made = (each for each in received if each.startswith(b"\x89PNG"))
    other = next(each for each in made if pixels_of(each).tobytes() not in released)
    of_class(root)[0].write_bytes(images.encode(images.decode(other)))
    reissue(root)


def left_out(root: Path) -> None:
    of_class(root)[0].unlink()
    reissue(root)


def twice(root: Path) -> None:
    first = of_class(root)[0]
    (first.parent / "i009-c000-000000.png").write_bytes(first.read_bytes())
    reissue(root)


PRIVATE = png(4242)
LAYOUTS: dict[str, Change] = {
    "a private picture in a chunk of our own": with_chunk(b"prVt", PRIVATE),
    "a private picture in a chunk before the end": with_chunk(b"prVt", PRIVATE, before=b"IEND"),
    "a tEXt chunk": with_chunk(b"tEXt", b"Comment\0" + SECRET),
    "a zTXt chunk": with_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(SECRET)),
    "an eXIf chunk": with_chunk(b"eXIf", b"MM\0*" + SECRET),
    "a tIME chunk": with_chunk(b"tIME", b"\x07\xd0\x01\x01\x11\x00\x00"),
    "a gAMA chunk": with_chunk(b"gAMA", struct.pack(">I", 45455)),
    "a suggested palette": with_chunk(b"PLTE", (SECRET * 3)[:60]),
    "bytes behind the end": lambda data: data + SECRET,
    "a picture behind the end": lambda data: data + PRIVATE,
    "another zlib level": with_scanlines(lambda lines: lines, level=1),
    "stored, not compressed": with_scanlines(lambda lines: lines, level=0),
    "a stream that is longer than its picture": with_scanlines(lambda lines: lines + SECRET),
    "image data in two chunks": split_idat,
    "a palette": in_palette,
    "an alpha channel that is opaque": saved("RGBA"),
    "16 bits per channel": deep,
    "interlaced": interlace,
    "WebP without loss": saved(kind="WEBP", lossless=True),
}
PICTURES: dict[str, Change] = {
    "a private picture": lambda data: PRIVATE,
    "a picture of another size": resized,
    "another picture as JPEG": saved(kind="JPEG", quality=30),
}
BROKEN: dict[str, Change] = {
    "an empty file": lambda data: b"",
    "text": lambda data: SECRET,
    "a picture that is cut off": lambda data: data[:-40],
}

MATCHED = ("control", "matched")
PIXELS = "forged pixels"
IN_CONTROL: dict[str, Row] = {
    "an image of another class": (of_another_class, ANOTHER),
    "an image of an earlier round": (of_an_earlier_round, ANOTHER),
    "an image left out and called unreadable": (left_out, r"release/cut/.*\.png is missing"),
    "an image twice": (twice, r"release/cut/i009-c000-000000\.png is not part of the dataset"),
}
FORGERIES: list[Forgery] = [
    *forged(
        "forged layout of an image",
        {name: altered(change) for name, change in LAYOUTS.items()},
        *MATCHED,
        fault=ANOTHER,
    ),
    *forged(PIXELS, {name: altered(change) for name, change in PICTURES.items()}, *MATCHED, fault=ANOTHER),
    *forged(PIXELS, {name: altered(change) for name, change in BROKEN.items()}, fault=ANOTHER),
    *forged(PIXELS, {"two images exchanged": swapped}, *MATCHED, fault=ANOTHER),
    *forged(
        PIXELS,
        {
            "the lowest bits of every value": altered(in_lowest_bits),
            "one value one level off": altered(moved_by(1)),
        },
        *("control", "as-is", "matched", "auto"),
        fault=ANOTHER,
    ),
    *forged(PIXELS, {"an image that nobody matched": (of_an_earlier_round, ANOTHER)}, "matched"),
    *forged(PIXELS, IN_CONTROL),
]
