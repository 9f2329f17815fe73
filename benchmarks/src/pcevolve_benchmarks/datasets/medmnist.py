"""MedMNIST's files: one ``.npz`` with images and labels of each split, and no names of classes."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, array_items, most_unpacked, require
from pcevolve_shared.reading import open_file

MOST_BYTES: Final = 2**36
"""Of a file; the largest of MedMNIST+ has 12 GB."""
_DAMAGED: Final = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, MemoryError)
LAYOUT = "a file such as bloodmnist.npz with train_images, train_labels, test_images and test_labels"


def items(path: Path) -> list[Item]:
    """Every image for training and of the test; classes are called ``class 0`` and so on.

    Raises:
        DataError: It is no such file, claims more than it can hold, or an image has several labels.
    """
    require(path, LAYOUT)
    try:
        with open_file(path, MOST_BYTES) as file, zipfile.ZipFile(file) as archive:
            most = most_unpacked(path)
            return [item for split in ("train", "test") for item in _of_split(archive, split, most)]
    except (KeyError, ValueError, EOFError, OSError, NotImplementedError, RuntimeError, *_DAMAGED) as error:
        raise DataError(f"{path}: not {LAYOUT} ({error})") from None


def _of_split(archive: zipfile.ZipFile, split: Split, most: int) -> Iterator[Item]:
    images, labels = (_array(archive, f"{split}_{name}.npy", most) for name in ("images", "labels"))
    if labels.ndim == 2 and labels.shape[1] != 1:
        raise ValueError("an image has several labels, and a class folder holds those of one")
    return array_items(split, images, labels.reshape(-1))


def _array(archive: zipfile.ZipFile, name: str, most: int) -> NDArray[Any]:
    """An array of whole numbers; no more is unpacked than its header says, and no header is believed beyond a bound.

    Raises:
        ValueError: It is of something else, or larger than ``most`` bytes.
    """
    with archive.open(name) as packed:
        version = np.lib.format.read_magic(packed)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, by_column, kind = header(packed)
        size = math.prod(shape) * kind.itemsize
        if kind.kind not in "iu" or by_column or size > most:
            raise ValueError(f"{name} is no array of whole numbers of up to {most:,} bytes")
        data = packed.read(size)
    return np.frombuffer(data, kind).reshape(shape)


DATASET = Dataset(
    name="medmnist",
    title="MedMNIST: small medical images of one file per task",
    words="",
    read=items,
    layout=LAYOUT,
    where="medmnist.com",
    terms="CC BY 4.0; DermaMNIST: CC BY-NC 4.0",
    sizes="in none of the two papers; give names to the classes with --labels, in the order of their numbers",
)
