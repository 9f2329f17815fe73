"""Items of a dataset, whatever its layout on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve_benchmarks.pixels import png

Split: TypeAlias = Literal["train", "test", ""]
Content: TypeAlias = Path | Callable[[], bytes]
"""A file as it was downloaded, or what makes a PNG of an array."""


@dataclass(frozen=True, repr=False)
class Item:
    """One image.

    Attributes:
        split: Of the dataset's own; empty where it has none.
        label: Of its class.
        name: File name, unique within split and label.
        content: Where the image is.
        unit: Who or what several images are of, a patient for example; empty where nothing is known.
    """

    split: Split
    label: str
    name: str
    content: Content
    unit: str = ""

    def __repr__(self) -> str:
        return "Item"


@dataclass(frozen=True)
class Dataset:
    """A dataset of a paper.

    Attributes:
        name: What ``pcevolve-bench datasets`` calls it.
        title: What it is.
        words: The papers' words for the domain, for ``--domain``.
        read: Finds its images in a folder or file as it was downloaded.
        layout: What has to be there.
        where: Where to get it.
        terms: Under which terms, in short; the source has the last word.
        sizes: Splits and sizes in the papers.
        unit: What a privacy unit is, where the dataset knows; empty where it is the image.
        held_out: Images of each class that become the test set where the dataset has no split of its own.
    """

    name: str
    title: str
    words: str
    read: Callable[[Path], Sequence[Item]]
    layout: str
    where: str
    terms: str
    sizes: str
    unit: str = ""
    held_out: int = 0


def require(path: Path, wanted: str) -> Path:
    """A file or folder that has to be there.

    Raises:
        DataError: It is not; the error says what was looked for.
    """
    if not path.exists():
        raise DataError(f"{path} is missing: {wanted}")
    return path


def most_unpacked(path: Path) -> int:
    """Bytes that one array of a packed file may have: images of these datasets are packed to a quarter."""
    return max(64 * 2**20, 100 * path.stat().st_size)


def array_items(split: Split, images: NDArray[np.uint8], labels: NDArray[np.integer]) -> Iterator[Item]:
    """Images of an array, in classes called ``class 0`` and so on; a PNG is made when one is wanted.

    Args:
        split: Of all of them.
        images: uint8 ``(images, height, width)``, or with three channels besides.
        labels: ``(images,)``.
    """
    for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        yield Item(split, f"class {int(label)}", f"{number:06d}.png", partial(png, pixels))
