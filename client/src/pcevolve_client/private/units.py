"""Privacy units larger than one image: a CSV file says which images belong together, e.g. to one patient."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pcevolve_client.errors import DataError
from pcevolve_client.private.dataset import PrivateDataset

MAX_BYTES = 100_000_000
_NAMED = 5  # files named in one error


def with_units(data: PrivateDataset, path: Path) -> PrivateDataset:
    """Group the records of a dataset into privacy units.

    Args:
        data: Loaded from a folder.
        path: CSV with a header; first column: path of an image inside the folder, second: its unit. The header of
            the second column names what a unit is (``patient``); that name is public.

    Returns:
        The same records under the units of the file.

    Raises:
        DataError: The file cannot be read, or does not list every image exactly once.
    """
    rows = _rows(path)
    name = rows[0][1].strip()
    if not name:
        raise DataError(f"{path}: the header must name the unit in its second column, as in: file,patient")
    unit_of = _listed(path, rows[1:])
    _refuse("does not list", [each for each in data.names if each not in unit_of], path)
    _refuse("lists what is not there:", [each for each in unit_of if each not in set(data.names)], path)
    known = {unit: place for place, unit in enumerate(sorted(set(unit_of.values())))}
    places = np.array([known[unit_of[each]] for each in data.names], dtype=np.int64)
    return replace(data, unit_of=places, unit_name=name)


def _rows(path: Path) -> list[list[str]]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path} is larger than {MAX_BYTES:,} bytes: it should list one image per line")
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    if len(rows) < 2 or any(len(row) != 2 for row in rows):
        raise DataError(f"{path} must have a header and two columns, as in: file,patient")
    return rows


def _listed(path: Path, rows: Sequence[Sequence[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    twice = []
    for file, unit in rows:
        name = file.strip().replace("\\", "/").removeprefix("./")
        if name in found:
            twice.append(name)
        if not unit.strip():
            raise DataError(f"{path}: {name} has no unit")
        found[name] = unit.strip()
    _refuse("lists twice:", twice, path)
    return found


def _refuse(what: str, names: Sequence[str], path: Path) -> None:
    """Raise one line that names the first files and counts the others, if there are any."""
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise DataError(
            f"{path} {what} {', '.join(names[:_NAMED])}{more}; paths are relative to the private folder"
        )
