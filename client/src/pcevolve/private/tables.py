"""Rows of private texts as they stand in a table or in class folders, one after the other; nothing is kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from pcevolve.errors import DataError, UsageError
from pcevolve.modality.texts.reading import MOST_BYTES, Text, plain, read
from pcevolve.private.listing import refuse
from pcevolve.private.units import composed
from pcevolve.public.labels import SYSTEM_FILES, label_fault

MOST_FILE_BYTES = 4 * 2**30
OF_TEXTS = "of class folders of .txt files, or a .csv, .tsv, .jsonl or .parquet file"


@dataclass(frozen=True)
class Columns:
    """Where a table has what; names of columns are public.

    Attributes:
        text: Of the texts.
        label: Of their classes.
        unit: Of what belongs together, such as a patient; None where each text is a unit.
        secrets: In which every value is a secret.
    """

    text: str = "text"
    label: str = "label"
    unit: str | None = None
    secrets: tuple[str, ...] = ()

    def wanted(self, labelled: bool) -> list[str]:
        """All of them that a table must have."""
        label, unit = ([self.label] if labelled else []), ([self.unit] if self.unit else [])
        return [self.text, *label, *unit, *self.secrets]


Row: TypeAlias = tuple[str, Text | None, str | None, str | None, tuple[str, ...]]
"""Where it stands, its text, its label and its unit, None for what is missing; and its secrets by column."""


def table_rows(path: Path, columns: Columns, label: str | None) -> Iterator[Row]:
    """Rows of a table, whichever kind of file it is."""
    if columns.unit and label_fault(columns.unit) is not None:
        raise DataError(f"--unit-column {columns.unit!r} says what a unit is: name the column in plain words")
    if path.stat().st_size > MOST_FILE_BYTES:
        raise DataError(f"{path} is larger than {MOST_FILE_BYTES >> 30} GiB: use a smaller dataset")
    wanted = columns.wanted(labelled=label is None)
    number = 0
    try:
        for number, row in enumerate(require_reader(path)(path, wanted), 1):
            text, unit = row.get(columns.text), row.get(columns.unit or "")
            said = plain(text) if isinstance(text, str) and len(text.encode()) <= MOST_BYTES else None
            named = None if unit is None else composed(str(unit))
            held = tuple(_small(row.get(each)) for each in columns.secrets)
            yield f"row {number}", said, label or _label(row.get(columns.label)), named, held
    except DataError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged, or not in UTF-8"
        raise DataError(f"{path} cannot be read behind row {number}: {reason}") from None


def _label(value: object) -> str | None:
    return None if value is None or str(value).strip() == "" else str(value).strip()


def _small(value: object) -> str:
    """A secret's value, whatever its case and form; empty where there is none."""
    return "" if value is None else plain(str(value)).casefold()


def require_reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Mapping[str, Any]]]:
    """What reads a table, by its name.

    Raises:
        DataError: Nothing does.
        UsageError: Its library is not installed.
    """
    readers = {".csv": _separated, ".tsv": _separated, ".jsonl": _lines, ".parquet": _parquet}
    found = readers.get(path.suffix.lower())
    if found is None:
        raise DataError(f"{path} is no table that can be read: give a folder {OF_TEXTS}")
    if found is _parquet and find_spec("pyarrow") is None:
        raise UsageError(f"{path} needs pyarrow: install it, or pcevolve[parquet]")
    return found


def _separated(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
        _require_columns(path, wanted, rows.fieldnames or ())
        while (row := _next_wide(rows)) is not None:
            yield row


def _next_wide(rows: csv.DictReader[str]) -> dict[str | Any, str | Any] | None:
    """The next row, whose fields may be long; the csv module's limit is the whole process's, so it is put back."""
    before = csv.field_size_limit(4 * MOST_BYTES)
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(before)


def _lines(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file):
            row = json.loads(line) if line.strip() else {}
            if not isinstance(row, dict):
                raise ValueError
            if number == 0:
                _require_columns(path, wanted, tuple(row))
            if line.strip():
                yield row


def _parquet(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    _require_columns(path, wanted, file.schema_arrow.names)
    for batch in file.iter_batches(columns=list(wanted)):
        yield from batch.to_pylist()


def _require_columns(path: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        offers = ", ".join(map(repr, there[:10])) or "none"
        raise DataError(
            f"{path} has no column {missing[0]!r}: it has {offers}; --text-column, --label-column, --unit-column "
            "and --secret-column name them"
        )


def folder_rows(path: Path, label: str | None) -> Iterator[Row]:
    """Files of class folders, or of all folders as one class."""
    try:
        files = sorted(each for each in path.rglob("*") if each.is_file())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    seen = [each for each in files if not _is_hidden(each.relative_to(path))]
    odd = [
        f"{each.relative_to(path)} is no .txt file in a class folder"
        for each in seen
        if not _fits(path, each, label)
    ]
    refuse(odd)
    for each in seen:
        name = each.relative_to(path).as_posix()
        with each.open("rb") as file:
            yield name, read(file.read(MOST_BYTES + 1)), label or each.parent.name, None, ()


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") or part.lower() in SYSTEM_FILES for part in name.parts)


def _fits(root: Path, file: Path, label: str | None) -> bool:
    depth = len(file.relative_to(root).parts)
    return file.suffix.lower() == ".txt" and (label is not None or depth == 2)
