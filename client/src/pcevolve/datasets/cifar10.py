"""CIFAR-10 in its binary version: records of a label and 3 x 32 x 32 bytes. The pickled version is not read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.datasets.items import Dataset, Item, Split, require
from pcevolve.errors import DataError
from pcevolve.modality.images.arrays import png

SIDE = 32
RECORD = 1 + 3 * SIDE * SIDE
LABELS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FILES: dict[Split, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("test_batch.bin",),
}
LAYOUT = "data_batch_1.bin to data_batch_5.bin and test_batch.bin (the binary version: pickles can run code)"


def items(root: Path) -> list[Item]:
    """Every image.

    Raises:
        DataError: A file is missing, or is not of whole records.
    """
    return [item for split, names in FILES.items() for name in names for item in _of_file(root / name, split)]


def _of_file(path: Path, split: Split) -> Iterator[Item]:
    data = np.fromfile(require(path, LAYOUT), dtype=np.uint8)
    if not len(data) or len(data) % RECORD:
        raise DataError(f"{path} is not of whole records of {RECORD} bytes: {LAYOUT}")
    records = data.reshape(-1, RECORD)
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
    where="cs.toronto.edu/~kriz/cifar.html (binary version)",
    terms="none stated; cite Krizhevsky 2009",
    sizes="Private Evolution: 50,000 images for training, 10,000 for the test, 32 x 32",
)
