"""The public images that tables are made on: folders of the user's, or scikit-learn's digits."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.private.dataset import PrivateDataset
from pcevolve_shared import images

TRAIN, TEST = "train", "test"
DIGITS = "handwritten mark"
"""Words for digits under labels that no provider understands, as in the demonstration."""
NAMES = {3: "type A", 5: "type B", 8: "type C"}
TRAINED = 90


@dataclass(frozen=True)
class BenchData:
    """Images in two folders of class folders.

    Attributes:
        name: What tables call it.
        words: Public words for what the images show.
        train: Where the shots are drawn from.
        test: Held-out images.
    """

    name: str
    words: str
    train: Path
    test: Path


def given(text: str) -> BenchData:
    """Read ``WORDS=DIR``: a folder with ``train`` and ``test``, each with one subfolder of images per class.

    Raises:
        UsageError: There are no words.
        DataError: A folder is missing, or the two have other classes.
    """
    words, found, folder = text.partition("=")
    if not found or not words.strip() or not folder.strip():
        raise UsageError(f"--data {text}: write WORDS=DIR, as in 'chest x-ray=./covidx'")
    root = Path(folder.strip()).absolute()
    classes = [_classes(root / part) for part in (TRAIN, TEST)]
    if classes[0] != classes[1]:
        raise DataError(f"--data {text}: {TRAIN} and {TEST} must have the same class folders")
    return BenchData(words.strip(), words.strip(), root / TRAIN, root / TEST)


def digits(folder: Path) -> BenchData:
    """Scikit-learn's handwritten 3, 5 and 8, written out once."""
    root = folder / "digits"
    if not root.is_dir():
        from pcevolve.private.digits import load_digits  # scikit-learn takes seconds to load

        partial = root.with_name("digits.part")
        shutil.rmtree(partial, ignore_errors=True)
        for part, of_part in zip((TRAIN, TEST), load_digits(TRAINED, NAMES, seed=0), strict=True):
            _write(partial / part, of_part)
        partial.rename(root)
    return BenchData("digits", DIGITS, root / TRAIN, root / TEST)


def described(data: Iterable[BenchData]) -> list[tuple[str, int, int, int]]:
    """Name, number of classes, images in ``train`` and in ``test`` of each; what Table 5 of the paper says."""
    return [(each.name, len(_classes(each.train)), _images(each.train), _images(each.test)) for each in data]


def _classes(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give one with {TRAIN} and {TEST}, each of class folders")
    return sorted(each.name for each in folder.iterdir() if each.is_dir())


def _images(folder: Path) -> int:
    return sum(
        1 for label in folder.iterdir() if label.is_dir() for each in label.iterdir() if each.is_file()
    )


def _write(folder: Path, data: PrivateDataset) -> None:
    for label in data.labels:
        (folder / label).mkdir(parents=True)
    for place, (image, target) in enumerate(zip(data.items, data.targets, strict=True)):
        (folder / data.labels[target] / f"{place:04d}.png").write_bytes(images.encode(image))
