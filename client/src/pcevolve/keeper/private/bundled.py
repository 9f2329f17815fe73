"""Public data that are bundled and stand in for private ones: handwritten digits, blood cells, nouns.

The digits are 1,797 scans of 8x8 pixels with 16 grey levels (UCI "Optical Recognition of Handwritten
Digits", CC BY 4.0), light ink on dark. scikit-learn contains them, so nothing is downloaded. The cells are
fifty pictures of each of four kinds (BCCD, MIT; ``cells/LICENCE.txt``). The bundled generator learnt blood
smears from other pictures of the same collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn import datasets

from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.records import Records
from pcevolve.public.config.data_source import CellsSource, DigitsSource
from pcevolve.public.media.images.decoding import cut_tiles, set_on_black
from pcevolve.public.media.images.files import digest_pixels

_BRIGHTEST = 16.0  # grey level of the darkest ink
ALL_DIGITS: Mapping[int, str] = {digit: f"digit {digit}" for digit in range(10)}


def load_digits(
    shots: int, names: Mapping[int, str] = ALL_DIGITS, seed: int = 0
) -> tuple[PrivateDataset, PrivateDataset]:
    """Return ``shots`` private images per chosen digit, and all other images of these digits as held-out data.

    Args:
        shots: Images per class, at least 1.
        names: Label of each digit; at least two digits, distinct labels.
        seed: Determines which images become the shots; public.

    Returns:
        The private and the held-out dataset; 64x64 RGB, light on dark with a margin.

    Raises:
        UsageError: ``shots`` is below 1.
        DataError: Fewer than ``shots`` + 1 images of a digit exist.
    """
    source = datasets.load_digits()
    labels = tuple(sorted(names.values()))
    chosen = [index for index, digit in enumerate(source.target) if int(digit) in names]
    images = tuple(set_on_black(source.images[index], _BRIGHTEST) for index in chosen)
    dataset = PrivateDataset(
        labels=labels,
        items=images,
        targets=np.array([labels.index(names[int(source.target[index])]) for index in chosen]),
        digests=tuple(digest_pixels(image) for image in images),
    )
    return dataset.split(shots, seed)


SHEETS = Path(__file__).with_name("cells")
"""One picture per kind with all its tiles, made by ``client/training/export_cells.py``."""
SIDE = 64


def load_cells(shots: int, names: Mapping[str, str], seed: int = 0) -> tuple[PrivateDataset, PrivateDataset]:
    """Draw pictures of each chosen kind of cell; the other pictures are held out.

    Raises:
        DataError: A kind has too few pictures.
        UsageError: ``shots`` is below 1.
    """
    labels = tuple(sorted(names.values()))
    of_label = {label: cut_tiles(SHEETS / f"{kind}.webp", SIDE) for kind, label in names.items()}
    images = tuple(image for label in labels for image in of_label[label])
    targets = np.repeat(np.arange(len(labels)), [len(of_label[label]) for label in labels])
    digests = tuple(digest_pixels(image) for image in images)
    return PrivateDataset(labels, images, targets, digests).split(shots, seed)


def load_pictures(
    source: DigitsSource | CellsSource, shots: int, seed: int
) -> tuple[PrivateDataset, PrivateDataset]:
    """Draw the private images of a source; the other images are held out. See ``load_digits`` and ``load_cells``."""
    if isinstance(source, CellsSource):
        return load_cells(shots, source.names, seed)
    return load_digits(shots, source.names, seed)


FILE = Path(__file__).with_name("terms.jsonl")
"""Definitions from WordNet 3.0, made by ``client/training/export_terms.py``; no model was trained on this part."""


def load_terms(shots: int, names: Mapping[str, str], seed: int) -> tuple[PrivateDataset, PrivateDataset]:
    """Draw definitions of each chosen kind; the other definitions are held out.

    Raises:
        DataError: A kind has too few definitions.
        UsageError: ``shots`` is below 1.
    """
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    chosen = [row for row in rows if row["kind"] in names]
    labels = [names[row["kind"]] for row in chosen]
    texts = tuple(row["text"] for row in chosen)
    records = Records(tuple(f"term {number}" for number in range(len(chosen))), texts, tuple(labels))
    return records.dataset(None).split(shots, seed)
