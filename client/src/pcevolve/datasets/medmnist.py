"""MedMNIST's files: one ``.npz`` with images and labels of each split, and no names of classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from pcevolve.datasets.items import Dataset, Item, Split, array_items, require
from pcevolve.errors import DataError

LAYOUT = "a file such as bloodmnist.npz with train_images, train_labels, test_images and test_labels"


def items(path: Path) -> list[Item]:
    """Every image for training and of the test; classes are called ``class 0`` and so on.

    Raises:
        DataError: It is no such file, or an image has several labels.
    """
    try:
        with np.load(require(path, LAYOUT), allow_pickle=False) as arrays:
            return [item for split in ("train", "test") for item in _of_split(arrays, split)]
    except (KeyError, ValueError, BadZipFile, OSError) as error:
        raise DataError(f"{path}: not {LAYOUT} ({error})") from None


def _of_split(arrays: np.lib.npyio.NpzFile, split: Split) -> Iterator[Item]:
    images, labels = arrays[f"{split}_images"], np.asarray(arrays[f"{split}_labels"])
    if labels.ndim == 2 and labels.shape[1] != 1:
        raise ValueError("an image has several labels, and a class folder holds those of one")
    return array_items(split, images, labels.reshape(-1))


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
