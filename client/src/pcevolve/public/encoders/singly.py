"""Run images through a network one at a time, in threads that each compute alone.

The number of threads changes no result, and the pixels of one image never affect another image.
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

    The image is cut before it is resized, because resizing the short side of a 1 x 10,000 image would take gigabytes.
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
    """Return the pixels of many images, float32 ``(images, 3, side, side)`` in 0..1. Unusable images are NaN."""
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
    """Return the number of threads to use: torch's setting, or one for each processor that this process may use."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    return count_cores()


@contextmanager
def lone_workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Provide a pool of threads that each compute alone.

    Splitting small operations over threads costs more than it saves. While the pool exists, NumPy's products are not
    split anywhere in the process. The same holds for torch's operations if torch is loaded.
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

    Kernels may round differently for another batch size, and on some devices for another position in the batch. Every
    forward pass therefore has **one** image, so by construction the result depends on this image alone. Several images
    are embedded in parallel, each by one thread that computes alone. Splitting the operations of one image over threads
    takes longer for small networks, and the rounding would depend on the number of threads.

    Args:
        images: Images of any size. ``None`` represents an undecodable image.
        preprocess: Maps a square RGB image to the network's input.
        forward: Maps this input to float32 ``(dimension,)``.
        threads: Number of threads: None for the default number, 1 for a GPU, and 0 for the calling thread.

    Returns:
        float64 ``(images, dimension)``. A row is NaN if the image or its embedding is unusable.
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
    """Compute products and decompositions in one thread, in the entire process. Also usable as a decorator.

    The bits of the results are then the same for any number of processors. Splitting products of some hundred rows
    saves little. If other programs are running, the splitting can cost a hundred times the work, because each thread
    spins while it waits for the others.
    """
    with _products().limit(limits=1):
        yield


@cache
def _products() -> ThreadpoolController:
    """Return the linear algebra libraries that NumPy and SciPy have loaded.

    The result is cached, because the search takes milliseconds.
    """
    found: ThreadpoolController = ThreadpoolController().select(user_api="blas")
    return found
