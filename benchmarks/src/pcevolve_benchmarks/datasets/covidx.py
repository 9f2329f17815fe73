"""COVIDx CXR: chest radiographs of patients with and without COVID-19.

``train.txt`` and ``test.txt`` have a line for each image: patient, file, class and source, separated by blanks. The
files lie in folders of the split's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require
from pcevolve_shared.reading import read_file

LABELS = {"negative": "no finding", "positive": "COVID-19 pneumonia"}
LAYOUT = "train.txt and test.txt (patient file class source), and folders train and test with the files"
COLUMNS = 4
MOST_BYTES = 100_000_000
"""Of a list; its own have 3 MB."""


def items(root: Path) -> list[Item]:
    """Every image of both splits.

    Raises:
        DataError: A file is missing, or a line says something else.
    """
    return [item for split in ("train", "test") for item in _of_split(root, split)]


def _of_split(root: Path, split: Split) -> Iterator[Item]:
    listing = require(root / f"{split}.txt", LAYOUT)
    for number, line in enumerate(read_file(listing, MOST_BYTES).decode().splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != COLUMNS or words[2] not in LABELS:
            raise DataError(
                f"{listing}, line {number}: not 'patient file class source' with class negative or positive; versions "
                "of three classes are not read"
            )
        patient, name, label, _ = words
        yield Item(split, LABELS[label], name, root / split / name, patient)


DATASET = Dataset(
    name="covidx",
    title="COVIDx CXR: chest radiographs with and without COVID-19",
    words="chest radiography (X-ray)",
    read=items,
    layout=LAYOUT,
    where="kaggle.com/datasets/andyczhao/covidx-cxr2",
    terms="gathered from several sources, each with terms of its own; research use",
    sizes="PCEvolve: 10 shots per class, 8,482 test images, 256 x 256; its prompt for 'no finding' has no label",
    unit="patient",
)
