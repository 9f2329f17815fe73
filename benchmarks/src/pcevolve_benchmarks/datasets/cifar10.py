"""CIFAR-10: records of a label and 3 x 32 x 32 bytes, or the Python version, as torchvision has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require
from pcevolve_benchmarks.datasets.pickles import MOST_BYTES, read_arrays
from pcevolve_benchmarks.pixels import png
from pcevolve_shared.reading import read_file

SIDE = 32
RECORD = 1 + 3 * SIDE * SIDE
LABELS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FILES: dict[Split, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("test_batch.bin",),
}
LAYOUT = "data_batch_1 to data_batch_5 and test_batch, all with .bin (the binary version) or without (the Python one)"


def items(root: Path) -> list[Item]:
    """Every image.

    Raises:
        DataError: A file is missing, or is not what it should be.
    """
    pickled = (root / "data_batch_1").exists() and not (root / "data_batch_1.bin").exists()
    files = [(root / name, split) for split, names in FILES.items() for name in names]
    if pickled:
        return [
            item for path, split in files for item in _items(path, _unpickle(path.with_suffix("")), split)
        ]
    return [item for path, split in files for item in _items(path, _records(path), split)]


def _records(path: Path) -> NDArray[np.uint8]:
    """Labels and pixels of the binary version, uint8 ``(images, 1 + 3072)``."""
    data = np.frombuffer(read_file(require(path, LAYOUT), MOST_BYTES), dtype=np.uint8)
    if not len(data) or len(data) % RECORD:
        raise DataError(f"{path} is not of whole records of {RECORD} bytes: {LAYOUT}")
    return data.reshape(-1, RECORD)


def _unpickle(path: Path) -> NDArray[np.uint8]:
    """Labels and pixels of the Python version, uint8 ``(images, 1 + 3072)``; nothing but arrays is read of it."""
    found = read_arrays(require(path, LAYOUT))
    labels, data = found.get("labels"), found.get("data")
    if labels is None or data is None or data.dtype != np.uint8 or data.shape != (len(labels), RECORD - 1):
        raise DataError(f"{path} has no data and labels as CIFAR-10 has them")
    return np.concatenate([labels.clip(0, 255).astype(np.uint8).reshape(-1, 1), data], axis=1)


def _items(path: Path, records: NDArray[np.uint8], split: Split) -> Iterator[Item]:
    if records.shape[1] != RECORD:
        raise DataError(f"{path} has {records.shape[1] - 1} bytes for an image: it is not CIFAR-10")
    if (records[:, 0] >= len(LABELS)).any():
        raise DataError(f"{path} names more than {len(LABELS)} classes: it is not CIFAR-10")
    for number, record in enumerate(records):
        name = f"{path.stem}-{number:05d}.png"
        yield Item(split, LABELS[record[0]], name, partial(_image, record[1:]))


def _image(pixels: NDArray[np.uint8]) -> bytes:
    return png(pixels.reshape(3, SIDE, SIDE).transpose(1, 2, 0))


DATASET = Dataset(
    name="cifar-10",
    title="CIFAR-10: ten kinds of things in small photographs",
    words="photo",
    read=items,
    layout=LAYOUT,
    where="cs.toronto.edu/~kriz/cifar.html, or torchvision.datasets.CIFAR10 (its folder cifar-10-batches-py)",
    terms="none stated; cite Krizhevsky 2009",
    sizes="Private Evolution: 50,000 images for training, 10,000 for the test, 32 x 32",
)
