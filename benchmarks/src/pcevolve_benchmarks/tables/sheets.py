"""Pictures of a table's runs: datasets side by side, nearest private images, and who had most and fewest votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.keeper import images
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.kind import read_run
from pcevolve.keeper.private.dataset import load_folder
from pcevolve.public.durable import write_durably
from pcevolve.public.encoders import load_encoder
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.media.images.sheet import draw_sheet
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve_benchmarks.tables.cells import Place
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.outcomes import measure_gaps, populations, read_votes, reopen
from pcevolve_benchmarks.tables.table import B, Sheets
from pcevolve_benchmarks.tables.work import AskedTable

SHOWN = 6
"""Images of each class."""
NEAREST = 4
"""Private images beside a synthetic one, by each kind of distance; and candidates at either end of the votes."""
COMPARED = 2
"""Synthetic images of each class that have their nearest private ones beside them."""
INITIAL = "initial (t2i)"
"""What the figure calls the dataset of the prompt alone, from which the others set out."""
Row = tuple[str, list[DecodedImage | None]]
Look = Callable[[Sequence[DecodedImage | None]], NDArray[np.floating]]


def sheets(asked: AskedTable, folder: Path) -> list[str]:
    """Draw one picture for each data set, of the runs of the first seed.

    Returns:
        The pictures' names in the folder.
    """
    made = []
    for data in asked.data:
        name = f"{asked.table.name}-{''.join(c if c.isalnum() else '-' for c in data.name)}.png"
        write_durably(folder / name, draw_sheet(list(_ROWS[asked.table.sheets](asked, data))))
        made.append(name)
    return made


def rows_of(asked: AskedTable, data: BenchData) -> Iterator[Row]:
    """The datasets of a data set's runs, what the prompt alone gave before the others.

    Args:
        asked: The table; runs that could not be carried out have no row.
        data: One of its data sets.
    """
    private = load_folder(data.train, unique=False)
    for place in sorted(_first_seed(asked, data), key=lambda each: each.row != B.name):
        root = asked.root(place.cell)
        if place.cell.yardstick == "shots":
            yield "private", Labelled.of(private).first(SHOWN)
        elif not place.cell.yardstick and RunFolder(root).finished:
            name = INITIAL if place.row == B.name else place.row
            yield name, Labelled.released(root, private.labels).first(SHOWN)


def pair_nearest(asked: AskedTable, data: BenchData) -> Iterator[Row]:
    """Synthetic images of a data set's runs beside their nearest private ones: by the encoder, then in pixels."""
    for place in _find_finished(asked, data):
        root = asked.root(place.cell)
        shots = read_run(OwnerFolder.of(root).require_options()).data
        looks = (load_encoder(asked.encoder(place.cell)).embed, images.make_independent().look)
        dataset = Labelled.released(root, shots.labels)
        for label, shown in lay_beside_nearest(dataset, Labelled.of(shots), shots.labels, looks):
            yield f"{label}: {place.row}", shown


def lay_beside_nearest(
    synthetic: Labelled, private: Labelled, labels: Sequence[str], looks: Sequence[Look]
) -> Iterator[Row]:
    """The first synthetic images of each class, each beside the private ones of its class that are nearest.

    Args:
        synthetic: A dataset.
        private: Images that it is compared with.
        labels: Names of the classes.
        looks: From images to features, a row each; each has a group of its own in the row.
    """
    gaps = [
        measure_gaps((look(synthetic.images), synthetic.targets), (look(private.images), private.targets))
        for look in looks
    ]
    for target, label in enumerate(labels):
        for index in np.flatnonzero(synthetic.targets == target)[:COMPARED]:
            row = [synthetic.images[index]]
            for each in gaps:
                order = each[index].argsort()[:NEAREST]
                found = [private.images[one] for one in order if np.isfinite(each[index, one])]
                row += [None, *found, *[None] * (NEAREST - len(found))]
            yield label, row


def show_votes(asked: AskedTable, data: BenchData) -> Iterator[Row]:
    """Of each round and class of a data set's runs, the candidates with the most noisy votes and with the fewest."""
    labels = load_folder(data.train, unique=False).labels
    for place in _find_finished(asked, data):
        outcome = reopen(asked.root(place.cell))
        for (iteration, votes), pool in zip(read_votes(outcome), populations(outcome, labels), strict=False):
            for label, shown in order_by_votes(pool, votes, labels):
                yield f"{label}, round {iteration}", shown


def order_by_votes(pool: Labelled, votes: NDArray[np.float64], labels: Sequence[str]) -> Iterator[Row]:
    """Candidates of each class: those with the most votes, most first, and those with the fewest, fewest last."""
    for target, label in enumerate(labels):
        own = np.flatnonzero(pool.targets == target)
        order = own[votes[own].argsort()[::-1]]
        ends = [[pool.images[each] for each in part] for part in (order[:NEAREST], order[-NEAREST:])]
        yield label, [*ends[0], None, *ends[1]]


_ROWS: Mapping[Sheets, Callable[[AskedTable, BenchData], Iterator[Row]]] = {
    "datasets": rows_of,
    "nearest": pair_nearest,
    "votes": show_votes,
}


def _first_seed(asked: AskedTable, data: BenchData) -> list[Place]:
    return [each for each in asked.places if each.cell.data == data.name and each.cell.seed == 0]


def _find_finished(asked: AskedTable, data: BenchData) -> Iterator[Place]:
    """Finished runs of the table's own rows, without its controls."""
    own = {row.name for row in asked.table.rows if not row.yardstick}
    for place in _first_seed(asked, data):
        if place.row in own and RunFolder(asked.root(place.cell)).finished:
            yield place
