"""Where private data come from, as written on the command line; reads nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.public.labels import label_faults

OF_CLASSES = "with one subfolder of images per class"
OF_IMAGES = "of images"
_DIGIT = re.compile(r"\s*([0-9])\s*(?:=\s*(.*?)\s*)?")


@dataclass(frozen=True)
class FolderSource:
    """A folder of class folders; load with ``dataset.load_folder``."""

    path: Path


@dataclass(frozen=True)
class DigitsSource:
    """Scikit-learn's handwritten digits; load with ``digits.load_digits``.

    Attributes:
        names: Chosen digits and their labels.
    """

    names: Mapping[int, str]


def parse_source(text: str) -> FolderSource | DigitsSource:
    """Read ``DIR``, ``digits``, ``digits:3,5,8`` or ``digits:3=type A,5=type B,8=type C``.

    A folder that is itself called ``digits`` is written ``./digits``. A digit without a label of
    its own is called ``digit N``.

    Raises:
        UsageError: The text is empty or its list of digits cannot be read.
    """
    if not text.strip():
        raise UsageError("private data: give a folder, or digits, or digits:3,5,8")
    kind, colon, choice = text.partition(":")
    if kind != "digits":
        return FolderSource(Path(text))
    items = choice.split(",") if colon else [str(digit) for digit in range(10)]
    names: dict[int, str] = {}
    for item in items:
        match = _DIGIT.fullmatch(item)
        if match is None or match[2] == "" or int(match[1]) in names:
            raise UsageError(f"{text!r}: write digits like digits:3,5,8 or digits:3=type A,5=type B")
        names[int(match[1])] = match[2] or f"digit {match[1]}"
    if len(names) < 2 or len(set(names.values())) < len(names):
        raise UsageError(f"{text!r}: choose two or more digits, each under its own label")
    if faults := label_faults(names.values()):
        raise UsageError(f"{text!r}: a label must be visible text that can name a folder: {faults[0]}")
    return DigitsSource(names)


def require_folder(path: Path, wanted: str, option: str = "") -> None:
    """Refuse a path that is no folder, before anything of it is read.

    Args:
        path: Where images should be.
        wanted: What kind of folder it should be: ``OF_CLASSES`` or ``OF_IMAGES``.
        option: What the user typed before it, with a blank.

    Raises:
        DataError: There is no such folder.
    """
    if not path.is_dir():
        there = "is a file" if path.exists() else "no such folder"
        raise DataError(f"{option}{path}: {there}; give a folder {wanted}")
