"""What a dataset is made of, whatever its layout on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pcevolve.errors import DataError

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
        name: What ``pcevolve datasets`` calls it.
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
