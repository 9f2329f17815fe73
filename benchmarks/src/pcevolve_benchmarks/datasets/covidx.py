"""COVIDx CXR: chest radiographs of patients with and without COVID-19.

``train.txt``, ``val.txt`` and ``test.txt`` have a line for each image: patient, file, class and source, separated by
blanks. The files lie in folders of the list's name. Shots are drawn from ``train``, which every release has and which
has the most patients; PCEvolve's published code takes the first of each class in ``val.txt``, and ``covidx-val`` takes
that list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require
from pcevolve_shared.reading import read_file

LABELS = {"negative": "no finding", "positive": "COVID-19 pneumonia"}
LAYOUT = "{shots}.txt and test.txt (patient file class source), and folders {shots} and test with the files"
COLUMNS = 4
MOST_BYTES = 100_000_000
"""Of a list; its own have 3 MB."""


def items(root: Path, shots: str = "train") -> list[Item]:
    """Every image of two lists.

    Args:
        root: As it was downloaded.
        shots: The list from which shots will be drawn.

    Raises:
        DataError: A file is missing, or a line says something else.
    """
    layout = LAYOUT.format(shots=shots)
    return [*_of_list(root, shots, "train", layout), *_of_list(root, "test", "test", layout)]


def _of_list(root: Path, listed: str, split: Split, layout: str) -> Iterator[Item]:
    listing = require(root / f"{listed}.txt", layout)
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
        yield Item(split, LABELS[label], name, root / listed / name, patient)


DATASET = Dataset(
    name="covidx",
    title="COVIDx CXR: chest radiographs with and without COVID-19",
    words="chest radiography (X-ray)",
    read=items,
    layout=LAYOUT.format(shots="train"),
    where="kaggle.com/datasets/andyczhao/covidx-cxr2",
    terms="gathered from several sources, each with terms of its own; research use",
    sizes="PCEvolve: 10 shots per class, 8,482 test images, 256 x 256; its prompt for 'no finding' has no label",
    unit="patient",
)
AS_PUBLISHED = replace(
    DATASET,
    name="covidx-val",
    title="COVIDx CXR with shots from val.txt, as in PCEvolve's published code",
    read=partial(items, shots="val"),
    layout=LAYOUT.format(shots="val"),
)
