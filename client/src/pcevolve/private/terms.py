"""Meanings of nouns as private texts, for demonstrations: real texts that no model of this project was trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.records import Records

FILE = Path(__file__).with_name("terms.jsonl")
"""Out of WordNet 3.0, by ``client/training/export_terms.py``: the part that nothing was trained on."""


def load_terms(shots: int, names: Mapping[str, str], seed: int) -> tuple[PrivateDataset, PrivateDataset]:
    """Draw meanings of each chosen kind; the rest is held out.

    Args:
        shots: Meanings per class.
        names: Chosen kinds and their labels.
        seed: Public.

    Returns:
        The drawn meanings and the others.

    Raises:
        DataError: A kind has too few.
        UsageError: ``shots`` is below 1.
    """
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    chosen = [row for row in rows if row["kind"] in names]
    labels = [names[row["kind"]] for row in chosen]
    texts = tuple(row["text"] for row in chosen)
    records = Records(tuple(f"term {number}" for number in range(len(chosen))), texts, tuple(labels))
    return records.dataset(None).split(shots, seed)
