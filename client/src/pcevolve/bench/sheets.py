"""Datasets side by side: a few images of each class, a row for each method, one picture for each data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pcevolve.bench.cells import Place
from pcevolve.bench.data import BenchData
from pcevolve.bench.work import Asked
from pcevolve.durable import write_durably
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.sheet import sheet_png
from pcevolve.private.dataset import load_folder
from pcevolve.run.folder import RunFolder
from pcevolve.run.labelled import Labelled

SHOWN = 6
"""Images of each class."""


def sheets(asked: Asked, folder: Path) -> list[str]:
    """Draw one picture for each data set, of the runs of the first seed.

    Returns:
        The pictures' names in the folder.
    """
    made = []
    for data in asked.data:
        first = [each for each in asked.places if each.cell.data == data.name and each.cell.seed == 0]
        rows = list(_rows(asked, data, first))
        name = f"{asked.table.name}-{''.join(c if c.isalnum() else '-' for c in data.name)}.png"
        write_durably(folder / name, sheet_png(rows))
        made.append(name)
    return made


def _rows(
    asked: Asked, data: BenchData, places: Sequence[Place]
) -> Iterator[tuple[str, list[DecodedImage | None]]]:
    private = load_folder(data.train, unique=False)
    for place in places:
        root = asked.root(place.cell)
        if place.cell.yardstick == "shots":
            yield "private", Labelled.of(private).first(SHOWN)
        elif not place.cell.yardstick and RunFolder(root).finished:
            yield place.row, Labelled.released(root, private.labels).first(SHOWN)
