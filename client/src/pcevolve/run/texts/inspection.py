"""What a table of private texts holds, what a run would refuse, and what mends it; nothing is sent or spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve.private.records import Records, read_records
from pcevolve.private.tables import Columns
from pcevolve.run.inspection import Checkup, InspectedFolder, said, shot_faults
from pcevolve.run.texts.reading import columns_of, to_draw_from

LABEL = "texts"
"""Stands for the one class where labels are not looked at."""


def text_checkup(table: Path, meant: InspectedFolder) -> Checkup:
    """Look at a table of private texts.

    Args:
        table: CSV, TSV, JSON Lines or Parquet.
        meant: How a run would be told to take it.
    """
    columns = columns_of(meant)
    window = ["--window says what is black and white in images, and these are texts: leave it out"]
    try:
        records = read_records(table, columns, LABEL if meant.unlabelled else None, strict=False)
    except DataError as error:  # nothing can be said of what is in it
        return Checkup((), (str(error),), ())
    if not records.names:
        return Checkup((), records.faults, ())
    try:
        records.dataset(columns.unit)
        twins = []
    except DataError as error:
        twins = [str(error)]
    counts = _held(records)
    own = shot_faults(counts, to_draw_from(records), meant)
    faults = [*(window if meant.window else []), *records.faults, *twins, *own]
    rows = list(_rows(records, columns, counts))
    rows.append((f"fits {said(meant)}", "NO" if own else "yes"))
    rows.append(("would be refused", f"{len(faults)}, see below" if faults else "nothing"))
    return Checkup(tuple(rows), tuple(faults), ())


def _held(records: Records) -> dict[str, int]:
    """Privacy units of each class, by label."""
    found: dict[str, set[str]] = {label: set() for label in sorted(set(records.labels))}
    for label, unit in zip(records.labels, records.units or records.names, strict=True):
        found[label].add(unit)
    return {label: len(units) for label, units in found.items()}


def _rows(records: Records, columns: Columns, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    lengths = sorted(len(text.split()) for text in records.texts)
    held = ", ".join(f"{label} {count}" for label, count in counts.items())
    yield "classes", f"{len(counts)}: {', '.join(counts)}"
    yield f"units per class (one {columns.unit or 'text'} each)", held
    yield "texts", f"{len(records.texts)}"
    yield "words", f"{lengths[0]} to {lengths[-1]}, half of the texts have up to {lengths[len(lengths) // 2]}"
