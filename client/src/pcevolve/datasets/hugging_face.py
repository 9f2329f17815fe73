"""A dataset that Hugging Face ``datasets`` saved to disk: Arrow files, read without that package.

``save_to_disk`` writes ``data-*.arrow`` and ``dataset_info.json``, within a folder for each split where there are
several. An image is a struct of bytes and path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pcevolve.datasets.items import Dataset, Item, Split, require
from pcevolve.errors import DataError, UsageError
from pcevolve.modality.images.kinds import SUFFIXES

LAYOUT = "what Dataset.save_to_disk or DatasetDict.save_to_disk writes, with a column of images and one of class labels"
SPLITS: Mapping[Split, tuple[str, ...]] = {"train": ("train",), "test": ("test", "validation")}


def items(root: Path) -> list[Item]:
    """Every image for training and of the test; without splits, every image.

    Raises:
        DataError: It is no such folder, or has no images with labels.
        UsageError: pyarrow is not installed.
    """
    found: dict[Split, Path] = {}
    for split, names in SPLITS.items():
        there = next((root / name for name in names if (root / name / "dataset_info.json").is_file()), None)
        if there is not None:
            found[split] = there
    return [item for split, folder in (found or {"": root}).items() for item in _of_folder(folder, split)]


def _of_folder(folder: Path, split: Split) -> Iterator[Item]:
    described = json.loads(require(folder / "dataset_info.json", LAYOUT).read_text()).get("features", {})
    image = _column(folder, described, "Image")
    label = _column(folder, described, "ClassLabel")
    names = described[label]["names"]
    for number, row in enumerate(_rows(folder, image, label)):
        stored = row[image] or {}
        if not stored.get("bytes"):
            raise DataError(f"{folder} holds paths instead of images: save it with its images embedded")
        suffix = Path(stored.get("path") or "").suffix.lower()
        name = f"{number:06d}{suffix if suffix in SUFFIXES else '.png'}"
        yield Item(split, names[row[label]], name, partial(bytes, stored["bytes"]))


def _column(folder: Path, described: Mapping[str, Any], kind: str) -> str:
    found = [name for name, feature in described.items() if feature.get("_type") == kind]
    if len(found) != 1:
        raise DataError(f"{folder} has {len(found)} columns of kind {kind}, and one is needed: {LAYOUT}")
    return found[0]


def _rows(folder: Path, *columns: str) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow as arrow
    except ImportError:
        raise UsageError(
            "pyarrow is not installed, which reads these files: pip install 'pcevolve[parquet]'"
        ) from None
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise DataError(f"{folder} has no .arrow files: {LAYOUT}")
    for path in files:
        with arrow.memory_map(str(path)) as source:
            for batch in arrow.ipc.open_stream(source):
                yield from batch.select(list(columns)).to_pylist()


DATASET = Dataset(
    name="hugging-face",
    title="A dataset that Hugging Face datasets saved to disk",
    words="",
    read=items,
    layout=LAYOUT,
    where="huggingface.co/datasets",
    terms="as its card says",
    sizes="any; without splits, 20 images per class are held out unless --held-out says otherwise",
    held_out=20,
)
