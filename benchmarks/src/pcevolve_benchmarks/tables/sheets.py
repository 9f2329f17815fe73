"""Datasets side by side: a few images of each class, a row for each method, one picture for each data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pcevolve.durable import write_durably
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.sheet import sheet_png
from pcevolve.private.dataset import load_folder
from pcevolve.run.folder import RunFolder
from pcevolve.run.labelled import Labelled
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.table import B
from pcevolve_benchmarks.tables.work import Asked

SHOWN = 6
"""Images of each class."""
INITIAL = "initial (t2i)"
"""What the figure calls the dataset of the prompt alone, from which the others set out."""


def sheets(asked: Asked, folder: Path) -> list[str]:
    """Draw one picture for each data set, of the runs of the first seed.

    Returns:
        The pictures' names in the folder.
    """
    made = []
    for data in asked.data:
        name = f"{asked.table.name}-{''.join(c if c.isalnum() else '-' for c in data.name)}.png"
        write_durably(folder / name, sheet_png(list(rows_of(asked, data))))
        made.append(name)
    return made


def rows_of(asked: Asked, data: BenchData) -> Iterator[tuple[str, list[DecodedImage | None]]]:
    """The rows of a data set's picture, what the prompt alone gave before the others.

    Args:
        asked: The table; runs that could not be carried out have no row.
        data: One of its data sets.
    """
    private = load_folder(data.train, unique=False)
    places = [each for each in asked.places if each.cell.data == data.name and each.cell.seed == 0]
    for place in sorted(places, key=lambda each: each.row != B.name):
        root = asked.root(place.cell)
        if place.cell.yardstick == "shots":
            yield "private", Labelled.of(private).first(SHOWN)
        elif not place.cell.yardstick and RunFolder(root).finished:
            name = INITIAL if place.row == B.name else place.row
            yield name, Labelled.released(root, private.labels).first(SHOWN)
