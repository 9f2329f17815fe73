"""Images through a network one at a time: their pixels as it takes them, and threads each of which computes alone.

How many threads there are changes no result, and no image's pixels depend on another's.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from threadpoolctl import ThreadpoolController

from pcevolve.public.media.images.decoding import DECODE_ERRORS, DecodedImage
from pcevolve_shared.processors import count_cores


def centre_square(image: DecodedImage) -> DecodedImage:
    """Cut the centre square out of an image and convert it to RGB.

    First, because resizing the short side of a 1 x 10,000 image would take gigabytes.
    """
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side)).convert("RGB")


def to_array(side: int) -> Callable[[DecodedImage], NDArray[np.float32]]:
    """Return a preprocessor: bilinear resize to ``side`` x ``side``, float32 ``(3, side, side)`` in [0, 1]."""

    def preprocess(image: DecodedImage) -> NDArray[np.float32]:
        resized = np.array(image.resize((side, side), Image.Resampling.BILINEAR))
        return np.ascontiguousarray(resized.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)

    return preprocess


def pixel_array(images: Sequence[DecodedImage | None], side: int) -> NDArray[np.float32]:
    """Pixels of many images, float32 ``(images, 3, side, side)`` in 0..1.

    Returns:
        Each image's pixels; NaN throughout for one that cannot be used.
    """
    preprocess = to_array(side)
    pixels = np.full((len(images), 3, side, side), np.nan, dtype=np.float32)
    for index, image in enumerate(images):
        try:
            if image is not None:
                pixels[index] = preprocess(centre_square(image))
        except DECODE_ERRORS:  # a released image is still the provider's bytes
            continue
    return pixels


def thread_count() -> int:
    """How many threads may compute: as many as torch was told to use, or one for each processor of this process."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    return count_cores()


@contextmanager
def lone_workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads each of which computes alone: to divide each small operation among threads costs more than it saves.

    NumPy's products are not divided either, in the whole process, as long as there are such threads; nor are torch's
    operations, where torch is loaded.
    """
    torch = sys.modules.get("torch")
    begin = (lambda: None) if torch is None else (lambda: torch.set_num_threads(1))
    try:
        with keep_undivided(), ThreadPoolExecutor(threads, initializer=begin) as pool:
            try:
                yield pool
            except BaseException:  # what has not begun would begin yet
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        if torch is not None:
            torch.set_num_threads(threads)  # also the number that threads started from now on begin with


def embed_each(
    images: Sequence[DecodedImage | None],
    preprocess: Callable[[DecodedImage], Any],
    forward: Callable[[Any], NDArray[np.float32]],
    dimension: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Embed images one by one, so that one image's embedding cannot depend on another image.

    Kernels may round differently for another batch size, and on some devices for another position in the batch. So
    every forward pass is of **one** image: the result is then a function of it alone by construction. Several are
    embedded at a time, each by one thread that computes alone; dividing the operations of one image among threads
    takes longer for small networks, and rounds by their number.

    Args:
        images: Of any size; ``None`` stands for what could not be decoded.
        preprocess: From a square RGB image to what the network takes.
        forward: From that to float32 ``(dimension,)``.
        threads: How many work; all that may if None, 1 for a device that is no processor, and 0 for the caller's own.

    Returns:
        float64 ``(images, dimension)``; NaN rows where an image or its embedding is unusable.
    """
    rows = np.full((len(images), dimension), np.nan)

    def fill(place: int) -> None:
        image = images[place]
        try:
            pixels = None if image is None else preprocess(centre_square(image))
        except DECODE_ERRORS:  # candidates are adversarial input, and Pillow decodes lazily
            return
        if pixels is not None:
            rows[place] = forward(pixels)

    if threads == 0:
        with keep_undivided():
            for place in range(len(images)):
                fill(place)
    else:
        with lone_workers(threads or thread_count()) as pool:
            deque(pool.map(fill, range(len(images))), maxlen=0)  # raises what a thread raised
    rows[~np.isfinite(rows).all(axis=1)] = np.nan
    return rows


@contextmanager
def keep_undivided() -> Iterator[None]:
    """Products and decompositions that one thread computes, in the whole process; also a decorator.

    Their bits are then the same however many processors there are. To divide those of some hundred rows saves little,
    and beside other programs it costs a hundred times the work: each thread spins while it waits for the others.
    """
    with _products().limit(limits=1):
        yield


@cache
def _products() -> ThreadpoolController:
    """The libraries of linear algebra that NumPy and SciPy have loaded; to look for them takes milliseconds."""
    found: ThreadpoolController = ThreadpoolController().select(user_api="blas")
    return found
