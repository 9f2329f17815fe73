"""Decode bytes from any source to an RGB image, within bounds."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

DecodedImage: TypeAlias = Image.Image
"""Pixels in memory. They are opaque outside ``media`` and ``encoders``."""

# All errors that Pillow's decoders raise for damaged files; a fuzz test checks this list.
DECODE_ERRORS = (
    *(OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, OverflowError, MemoryError),
    *(struct.error, zlib.error, Image.DecompressionBombError, Image.DecompressionBombWarning),
)
FRAMED_SIDE = 64  # pixels of a framed scan, margin included
INK_SIDE = 48  # pixels of the scan itself; scans touch their border, but generated glyphs have a margin


def decode_here(data: bytes) -> DecodedImage | None:
    """Decode received bytes in this process, within the wire's limits; None for an undecodable image."""
    from pcevolve_shared import images  # deferred: a keeper decodes in another process

    try:
        return images.decode(data)
    except images.ImageError:
        return None


class RecentImages:
    """Decodes with a given function, and caches recent images. Each image is checked, embedded and shown in turn."""

    def __init__(self, decode: Callable[[bytes], DecodedImage | None], most: int = 2**26) -> None:
        """Take the decoding function, and the largest number of bytes of files and pixels that are cached."""
        self._decode, self._most = decode, most
        self._turn = threading.Lock()
        self._recent: dict[bytes, DecodedImage | None] = {}
        self._weight = 0

    def decode(self, data: bytes) -> DecodedImage | None:
        """Return an image's pixels; None if it is undecodable."""
        # One thread at a time; otherwise two threads could decode the same image.
        with self._turn:
            if data in self._recent:
                return self._recent[data]
            found = self._recent[data] = self._decode(data)
            self._weight += _weigh(data, found)
            while self._weight > self._most:
                oldest = next(iter(self._recent))
                self._weight -= _weigh(oldest, self._recent.pop(oldest))
        return found


def _weigh(data: bytes, image: DecodedImage | None) -> int:
    return len(data) + (0 if image is None else 3 * image.width * image.height)


_decoders: list[Callable[[bytes], DecodedImage | None]] = [decode_here]


@contextmanager
def decoding_by(decoder: Callable[[bytes], DecodedImage | None]) -> Iterator[None]:
    """Decode received bytes with another function while the context is open.

    A process with private files must not decode foreign images itself. A process with the network decodes them only
    within a time limit.
    """
    _decoders.append(decoder)
    try:
        yield
    finally:
        _decoders.remove(decoder)


def decode_picture(data: bytes) -> DecodedImage | None:
    """Decode received bytes with this process's decoder; None for an undecodable image."""
    return _decoders[-1](data)


def set_on_black(levels: NDArray[np.float64], brightest: float) -> DecodedImage:
    """Enlarge a scan and place it on black, with a margin.

    Args:
        levels: float64 ``(height, width)``, grey levels from 0, which is black.
        brightest: The level that becomes white.

    Returns:
        RGB, ``FRAMED_SIDE`` x ``FRAMED_SIDE`` pixels.
    """
    grey = Image.fromarray(np.rint(levels * (255.0 / brightest)).astype(np.uint8))
    canvas = Image.new("L", (FRAMED_SIDE, FRAMED_SIDE))
    margin = (FRAMED_SIDE - INK_SIDE) // 2
    canvas.paste(grey.resize((INK_SIDE, INK_SIDE), Image.Resampling.BICUBIC), (margin, margin))
    return canvas.convert("RGB")


def cut_tiles(sheet: Path, side: int) -> list[DecodedImage]:
    """Cut a sheet of images into its square tiles, RGB, row by row."""
    with Image.open(sheet) as image:
        page = image.convert("RGB")
    corners = ((x, y) for y in range(0, page.height, side) for x in range(0, page.width, side))
    return [page.crop((x, y, x + side, y + side)) for x, y in corners]
