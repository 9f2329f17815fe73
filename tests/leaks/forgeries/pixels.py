"""Released images with more, or with others, in them than the provider sent."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from leaks.forgeries.forging import SECRET, Act, Forgery, of_family
from pcevolve_shared import images
from support.forge import reissue
from support.provider import png

ENCODING = r"release/cut/.*\.png holds more than its pixels, or holds them in another encoding"
ANOTHER = r"release/(cut|good)/.*\.png is not the image that the provider sent"
SIGNATURE = 8
Change = Callable[[bytes], bytes]
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
"""First row, first column, rows and columns between two pixels of each pass of an interlaced PNG."""


def chunk(name: bytes, data: bytes) -> bytes:
    """A PNG chunk with its checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of a PNG's chunks."""
    at = SIGNATURE
    while at < len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += length + 12


def assembled(data: bytes, parts: list[tuple[bytes, bytes]]) -> bytes:
    """A PNG of these chunks."""
    return data[:SIGNATURE] + b"".join(chunk(*part) for part in parts)


def with_chunk(name: bytes, content: bytes, before: bytes = b"IDAT") -> Change:
    """One more chunk."""

    def change(data: bytes) -> bytes:
        parts = list(chunks(data))
        parts.insert([each for each, _ in parts].index(before), (name, content))
        return assembled(data, parts)

    return change


def with_scanlines(change: Change, level: int = 6) -> Change:
    """Other scan lines under the same header."""

    def act(data: bytes) -> bytes:
        parts = dict(chunks(data))
        lines = change(zlib.decompress(parts[b"IDAT"]))
        return assembled(
            data, [(b"IHDR", parts[b"IHDR"]), (b"IDAT", zlib.compress(lines, level)), (b"IEND", b"")]
        )

    return act


def split_idat(data: bytes) -> bytes:
    parts = dict(chunks(data))
    whole = parts[b"IDAT"]
    return assembled(
        data, [(b"IHDR", parts[b"IHDR"]), (b"IDAT", whole[:17]), (b"IDAT", whole[17:]), (b"IEND", b"")]
    )


def pixels_of(data: bytes) -> np.ndarray:
    return np.asarray(images.decode(data))


def with_header(data: bytes, depth: int, colour: int, interlaced: int, lines: bytes) -> bytes:
    """A PNG of the same size in another layout."""
    size = dict(chunks(data))[b"IHDR"][:8]
    header = size + struct.pack(">BBBBB", depth, colour, 0, 0, interlaced)
    return assembled(data, [(b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")])


def rows_of(pixels: np.ndarray) -> bytes:
    """Unfiltered scan lines."""
    return b"".join(b"\0" + row.tobytes() for row in pixels)


def deep(data: bytes) -> bytes:
    """16 bits per channel, of which a viewer shows the first eight; the others are the secret."""
    low = np.resize(np.frombuffer(SECRET, np.uint8), pixels_of(data).shape)
    both = np.stack([pixels_of(data), low], axis=-1).reshape(len(low), -1)
    return with_header(data, 16, 2, 0, rows_of(both))


def interlaced(data: bytes) -> bytes:
    pixels = pixels_of(data)
    lines = b"".join(rows_of(pixels[y::down, x::across]) for y, x, down, across in ADAM7)
    return with_header(data, 8, 2, 1, lines)


def saved(mode: str | None = None, kind: str = "PNG", **options: object) -> Change:
    """The same picture as another program would save it."""

    def change(data: bytes) -> bytes:
        image, buffer = images.decode(data), io.BytesIO()
        (image if mode is None else image.convert(mode)).save(buffer, kind, **options)
        return buffer.getvalue()

    return change


def in_palette(data: bytes) -> bytes:
    """The same pixels, of which each has a number: the palette's order can say something."""
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
    "interlaced": interlaced,
    "WebP without loss": saved(kind="WEBP", lossless=True),
}
PICTURES: dict[str, Change] = {
    "a private picture": lambda data: PRIVATE,
    "one value two levels off": moved_by(2),
    "a picture of another size": resized,
    "another picture as JPEG": saved(kind="JPEG", quality=30),
}
BROKEN: dict[str, Change] = {
    "an empty file": lambda data: b"",
    "text": lambda data: SECRET,
    "a picture that is cut off": lambda data: data[:-40],
}

FORGERIES: list[Forgery] = [
    *of_family(
        "forged layout of an image",
        [
            (name, kind, altered(change), ENCODING)
            for name, change in LAYOUTS.items()
            for kind in ("control", "matched")
        ],
    ),
    *of_family(
        "forged pixels",
        [
            *(
                (name, kind, altered(each), ANOTHER)
                for name, each in PICTURES.items()
                for kind in ("control", "matched")
            ),
            *(
                (name, "control", altered(each), r"release/cut/.*\.png is no image")
                for name, each in BROKEN.items()
            ),
            ("the lowest bits of every value", "control", altered(in_lowest_bits), ANOTHER),
            ("the lowest bits of every value", "as-is", altered(in_lowest_bits), ANOTHER),
            (
                "the lowest bits of every value",
                "matched",
                altered(in_lowest_bits),
                "values are one level off",
            ),
            ("the lowest bits of every value", "auto", altered(in_lowest_bits), "values are one level off"),
            ("one value one level off", "control", altered(moved_by(1)), ANOTHER),
            ("one value one level off", "as-is", altered(moved_by(1)), ANOTHER),
            ("two values one level off", "matched", altered(moved_by(1, 2)), "2 values are one level off"),
            (
                "a value one level off in each of two images",
                "matched",
                altered(moved_by(1), moved_by(1)),
                "2 values are one level off",
            ),
            ("two images exchanged", "control", swapped, ANOTHER),
            ("two images exchanged", "matched", swapped, ANOTHER),
            ("an image of another class", "control", of_another_class, ANOTHER),
            ("an image of an earlier round", "control", of_an_earlier_round, ANOTHER),
            ("an image that nobody matched", "matched", of_an_earlier_round, ANOTHER),
            (
                "an image left out and called unreadable",
                "control",
                left_out,
                r"release/cut/.*\.png is missing",
            ),
            (
                "an image twice",
                "control",
                twice,
                r"release/cut/i009-c000-000000\.png is not part of the dataset",
            ),
        ],
    ),
]
