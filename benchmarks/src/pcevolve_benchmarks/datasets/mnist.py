"""MNIST and its like (Fashion-MNIST, KMNIST) in the idx format, as torchvision keeps them in ``raw``, packed or not."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, array_items, most_unpacked, require
from pcevolve_shared.reading import open_file

PREFIXES: dict[Split, str] = {"train": "train", "test": "t10k"}
BYTES = 0x08
"""The format's code of unsigned bytes."""
MOST_BYTES = 2**30
"""Of a file; the largest of EMNIST has half of it."""
LAYOUT = "train-images-idx3-ubyte, train-labels-idx1-ubyte and the two of t10k, with .gz or without"


def items(root: Path) -> list[Item]:
    """Every image of both splits; classes are called ``class 0`` and so on.

    Raises:
        DataError: A file is missing, or is not in the format.
    """
    return [item for split, prefix in PREFIXES.items() for item in _of_split(root, split, prefix)]


def _of_split(root: Path, split: Split, prefix: str) -> Iterator[Item]:
    images = _array(root, f"{prefix}-images-idx3-ubyte", 3)
    labels = _array(root, f"{prefix}-labels-idx1-ubyte", 1)
    if len(images) != len(labels):
        raise DataError(f"{root}: {prefix} has {len(images)} images and {len(labels)} labels")
    return array_items(split, images, labels)


def _array(root: Path, name: str, dimensions: int) -> NDArray[np.uint8]:
    """An array of bytes: two zeros, a type, the number of dimensions, each of them in four bytes, and what is in it.

    Raises:
        DataError: The file is missing, damaged or of something else.
    """
    path = next((root / each for each in (name, f"{name}.gz") if (root / each).exists()), root / name)
    start = 4 + 4 * dimensions
    try:
        with open_file(require(path, LAYOUT), MOST_BYTES) as file:
            unpacked = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            head = unpacked.read(start)
            kind, shape = struct.unpack_from(">HBB", head), struct.unpack_from(f">{dimensions}I", head, 4)
            size = math.prod(shape)
            data = unpacked.read(size + 1) if size <= most_unpacked(path) else b""
    except (OSError, EOFError, struct.error, zlib.error) as error:
        raise DataError(f"{path}: not {LAYOUT} ({error})") from None
    if kind != (0, BYTES, dimensions) or len(data) != size:
        raise DataError(f"{path} is no whole idx file of bytes in {dimensions} dimensions")
    return np.frombuffer(data, np.uint8).reshape(shape)


DATASET = Dataset(
    name="mnist",
    title="MNIST, Fashion-MNIST or KMNIST: small grey images of ten classes",
    words="handwritten digit",
    read=items,
    layout=LAYOUT,
    where="torchvision.datasets.MNIST(root, download=True), folder MNIST/raw",
    terms="MNIST: CC BY-SA 3.0; Fashion-MNIST: MIT; KMNIST: CC BY-SA 4.0",
    sizes="in none of the two papers: 60,000 images for training, 10,000 for the test, 28 x 28; name the classes with "
    "--labels",
)
