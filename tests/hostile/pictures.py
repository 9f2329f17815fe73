"""Image files that are more, less or other than they should be."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from hostile.provider import SIZE
from support.pngs import raw_png

INFLATED = 1536  # MiB; more than the client may hold above an honest run


@cache
def bomb() -> bytes:
    """A small zlib stream that inflates to ``INFLATED`` MiB of zeros; its checksum is wrong, far behind."""
    packer = zlib.compressobj(9)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block + block[2:] * (INFLATED - 1) + b"\x03\x00" + bytes(4)


def rows(width: int, height: int) -> bytes:
    """Honest pixels, all black."""
    return zlib.compress(bytes((3 * width + 1) * height))


def picture(seed: int = 0, size: tuple[int, int] = (SIZE, SIZE)) -> Image.Image:
    """Noise."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), dtype=np.uint8))


def save(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """The file that Pillow makes of it."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def in_mode(mode: str, kind: str = "PNG") -> Callable[[int], bytes]:
    """Noise in another mode."""
    return lambda seed: save(picture(seed).convert(mode), kind)


def deep_grey(seed: int) -> bytes:
    """16 bits of grey."""
    values = np.random.default_rng(seed).integers(0, 2**16, (SIZE, SIZE), dtype=np.uint16)
    return save(Image.fromarray(values))


def deep_colour(seed: int) -> bytes:
    """16 bits in each of three channels."""
    values = np.random.default_rng(seed).integers(0, 256, (SIZE, 6 * SIZE), dtype=np.uint8)
    lines = b"".join(b"\0" + line.tobytes() for line in values)
    return raw_png(SIZE, SIZE, zlib.compress(lines), depth=16)


def flat(colour: str) -> Callable[[int], bytes]:
    """One colour everywhere."""
    return lambda seed: save(Image.new("RGB", (SIZE, SIZE), colour))


def resize(width: int, height: int) -> Callable[[int], bytes]:
    """Another size than was asked for; black, so that the file is small."""
    return lambda seed: raw_png(width, height, rows(width, height))


def scale(width: int, height: int) -> Callable[[int], bytes]:
    """Noise in blocks, in another size than was asked for."""
    return lambda seed: save(picture(seed).resize((width, height), Image.Resampling.NEAREST))


def animate(kind: str) -> Callable[[int], bytes]:
    """Many frames."""

    def make() -> bytes:
        first, *others = map(picture, range(50))
        return save(first, kind, save_all=True, append_images=others)

    return once(make)


def halve(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """The first half of a file."""
    return lambda seed: make(seed)[: len(make(seed)) // 2]


def endless_scans(seed: int) -> bytes:
    """A progressive JPEG that says the same thing a thousand times."""
    data = save(picture(seed), "JPEG", progressive=True)
    start = data.index(b"\xff\xda")
    scan = data[start : data.index(b"\xff", start + 2)]
    return data[:start] + scan * 1000 + data[start:]


def once(make: Callable[[], bytes]) -> Callable[[int], bytes]:
    """Always the same bytes, made when they are first sent."""
    kept = cache(make)
    return lambda seed: kept()


def fix(data: bytes) -> Callable[[int], bytes]:
    """Always the same bytes."""
    return lambda seed: data


def nearly_black(seed: int) -> Image.Image:
    """Black, but for noise of two levels."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 3, (SIZE, SIZE, 3), dtype=np.uint8))


def transparent(seed: int) -> Image.Image:
    """Noise that nobody sees."""
    image = picture(seed).convert("RGBA")
    image.putalpha(0)
    return image


def note(seed: int) -> PngInfo:
    """Metadata that no other image has."""
    found = PngInfo()
    found.add_text("seed", str(seed))
    return found


def round_otherwise(seed: int, other: int) -> Image.Image:
    """The image of a seed, one level off here and there."""
    off = np.random.default_rng(other).integers(-1, 2, (SIZE, SIZE, 3))
    return Image.fromarray(np.clip(np.asarray(picture(seed), dtype=int) + off, 0, 255).astype(np.uint8))


def in_the_middle(seed: int) -> bytes:
    """Images nearest to everything: the mean of many images, now and then, among images at the rim."""
    if seed % 2:
        return save(picture(seed))
    many = np.stack([np.asarray(picture(seed + place), dtype=float) for place in range(64)])
    return save(Image.fromarray(many.mean(axis=0).round().astype(np.uint8)))
