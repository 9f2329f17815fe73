"""Camelyon17 of WILDS: patches of lymph node sections from five hospitals.

``metadata.csv`` has a row for each patch. Hospital 2 is the test set, hospital 1 the validation set; of the others
``split`` 0 is for training.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require
from pcevolve_shared.reading import open_file

LABELS = {"0": "no tumor", "1": "breast cancer with a tumor tissue"}
LAYOUT = "metadata.csv and patches/patient_PPP_node_N/patch_patient_PPP_node_N_x_X_y_Y.png"
COLUMNS = {"patient", "node", "x_coord", "y_coord", "tumor", "center", "split"}
MOST_BYTES = 1_000_000_000
"""Of the table; its own has 30 MB."""
TEST_CENTER, VALIDATION_CENTER = "2", "1"


def items(root: Path) -> list[Item]:
    """Every patch for training and of the test hospital.

    Raises:
        DataError: A file or a column is missing.
    """
    table = require(root / "metadata.csv", LAYOUT)
    with open_file(table, MOST_BYTES) as file:
        rows = csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))
        if missing := COLUMNS - set(rows.fieldnames or ()):
            raise DataError(f"{table} has no column {', '.join(sorted(missing))}: it is not that of WILDS")
        return list(_read_used(root, rows))


def _read_used(root: Path, rows: csv.DictReader[str]) -> Iterator[Item]:
    for row in rows:
        split = _split(row)
        if split:
            patient = row["patient"].zfill(3)
            folder = f"patient_{patient}_node_{row['node']}"
            name = f"patch_{folder}_x_{row['x_coord']}_y_{row['y_coord']}.png"
            yield Item(split, LABELS[row["tumor"]], name, root / "patches" / folder / name, patient)


def _split(row: dict[str, str]) -> Split:
    if row["center"] == TEST_CENTER:
        return "test"
    return "train" if row["center"] != VALIDATION_CENTER and row["split"] == "0" else ""


DATASET = Dataset(
    name="camelyon17",
    title="Camelyon17 (WILDS): lymph node sections with and without tumour",
    words="histological lymph node section",
    read=items,
    layout=LAYOUT,
    where="wilds.stanford.edu/datasets/#camelyon17",
    terms="CC0 1.0",
    sizes="Private Evolution: 302,436 images of 96 x 96 for training; both papers: 85,054 test images; PCEvolve: 10 "
    "shots per class",
    unit="patient",
)
