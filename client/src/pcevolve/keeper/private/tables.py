"""Read rows of private texts from a table or class folders, one after the other; no row is kept in memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeAlias

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.listing import Folders
from pcevolve.keeper.private.units import normalise_unit
from pcevolve.public.media.images.kinds import HEAD_BYTES, SUFFIXES, advise_by_name, describe_misnamed_table
from pcevolve.public.media.texts import MOST_BYTES, Text, normalise, read_text
from pcevolve.public.modality import SINGLE
from pcevolve.public.words import find_label_fault, nfc
from pcevolve_shared.reading import BoundedLines, open_file, parse_json, read_file

MOST_TEXTS = 4_000_000
"""Largest number of texts: half of the number for which sums are exact; see ``selectors.selection.round_down``."""
MOST_FILE_BYTES = 4 * 2**30
MOST_ROW = 2**22
"""Largest number of characters of a row, over all its columns."""
LEAST_UNPACKED = 2**24
"""Bytes that every Parquet file may take unpacked; a large file may take a hundred times its own size."""
ROW_BYTES = 64
"""Estimate of a row's memory apart from its text, in bytes."""
BATCH_ROWS = 1024
"""Number of rows of a Parquet file that are unpacked at a time."""
MOST_EXACT = 2.0**53
"""Above this, neighbouring integers share one float64, so that two patients could become one."""
PAGE_BUFFER = 2**16
"""Number of bytes of a Parquet file that are read at a time."""
MOST_BATCH = 2**28
"""Largest number of bytes of the texts in ``BATCH_ROWS`` rows; usable texts take less than half."""
OF_TEXTS = "of class folders of .txt files, or a .csv, .tsv, .jsonl or .parquet file"


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are read, by role; names of columns are public.

    Attributes:
        text: Column of the texts.
        label: Column of the texts' classes.
        unit: Column of the texts' units, such as a patient; None if each text is a unit.
        secrets: Columns in which every value is a secret.
    """

    text: str = "text"
    label: str = "label"
    unit: str | None = None
    secrets: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, text: str | None, label: str | None, unit: str | None) -> Self:
        """Return the columns that options name, with defaults for columns that no option names."""
        return cls(text or cls.text, label or cls.label, unit)

    def wanted(self, labelled: bool) -> list[str]:
        label, unit = ([self.label] if labelled else []), ([self.unit] if self.unit else [])
        return [self.text, *label, *unit, *self.secrets]


Row: TypeAlias = tuple[str, Text | None, str | None, str | None, tuple[str, ...], str]
"""Place, text, label, unit (None if missing), secrets by column, and fault of a row."""


def read_table(path: Path, columns: Columns, label: str | None) -> Iterator[Row]:
    """Yield the rows of a table in any supported format."""
    if columns.unit and (find_label_fault(columns.unit) is not None or columns.unit.casefold() in SINGLE):
        raise DataError(
            f"data.unit_column {columns.unit!r} says what a unit is: name the column in plain words, by what its texts "
            "have in common"
        )
    unit_column = None if columns.unit is None else nfc(columns.unit)
    columns = Columns(nfc(columns.text), nfc(columns.label), unit_column, tuple(map(nfc, columns.secrets)))
    wanted = columns.wanted(labelled=label is None)
    number = 0
    try:
        for row in require_reader(path)(path, wanted):
            text, unit = row.get(columns.text), _read_cell(row.get(columns.unit or ""))
            # Bounded in bytes before normalisation, which may take much longer than reading.
            content = normalise(text) if isinstance(text, str) and len(text.encode()) <= MOST_BYTES else None
            named = None if unit is None else normalise_unit(unit)
            held = tuple(normalise(_read_cell(row.get(each)) or "").casefold() for each in columns.secrets)
            # Refused, because the values inside a list would be promised protection and silently get none.
            odd = [each for each in columns.secrets if not _is_single(row.get(each))]
            fault = CELLS if None in row else f"has no single value in column {odd[0]!r}" if odd else ""
            number_of_unit = row.get(columns.unit or "")
            if isinstance(number_of_unit, float) and abs(number_of_unit) >= MOST_EXACT:
                fault = (
                    fault
                    or f"has a {columns.unit} with more digits than a floating-point number can hold: "
                    "store it as text"
                )
            of_class = label or _read_cell(row.get(columns.label))
            number += 1  # counted here, because an error names the last row that was read
            yield f"row {number}", content, of_class, named, held, fault
    except DataError:
        raise
    except (OSError, ValueError, MemoryError, csv.Error) as error:
        raise DataError(f"{path} cannot be read after row {number}: {_reason(error)}") from None


CELLS = "has more cells than the first line: put texts with commas in quotes"


def _reason(error: Exception) -> str:
    """State why a table cannot be read, without any of its contents."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return "it is not in UTF-8: save it as UTF-8"
    return "it is damaged"


def _is_single(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | date | time | timedelta)


def _read_cell(value: object) -> str | None:
    """Return a cell as text, stripped; None for an empty cell, NaN, or a compound value."""
    # NaN, which some tools write for unknown values, differs from itself.
    if value is None or not _is_single(value) or value != value:
        return None
    # Libraries write integers as 7.0 in a column with gaps; 7.0 and 7 are the same patient or class.
    whole = isinstance(value, float) and value.is_integer()
    spelled = str(f"{value:.0f}" if whole else value)
    spelled.encode()  # raises ``ValueError`` for a lone surrogate, which JSON can contain
    return nfc(spelled).strip() or None


def require_reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Mapping[str | None, Any]]]:
    """Return the reader for a table, by the file's name.

    Raises:
        DataError: No reader supports the file.
        UsageError: The library that reads it is not installed.
    """
    readers = {".csv": _read_separated, ".tsv": _read_separated, ".jsonl": _lines, ".parquet": _parquet}
    found = readers.get(path.suffix.lower())
    if found is None:
        if path.suffix.lower() in SUFFIXES:
            raise DataError(
                f"{path} is one image: give the folder that contains one subfolder of images per class"
            )
        if advice := advise_by_name(path.name):
            raise DataError(f"{path} {advice}")
        raise DataError(f"{path} is not a table that can be read: give a folder {OF_TEXTS}")
    if found is _parquet and find_spec("pyarrow") is None:
        raise UsageError(f"{path} needs pyarrow: install it, or pcevolve[parquet]")
    return found


@contextmanager
def _lines_of(path: Path) -> Iterator[BoundedLines]:
    """Open the lines of a text file (``DataError`` for UTF-16, an empty file, or another format)."""
    with open_file(path, MOST_FILE_BYTES) as file:
        head = file.read(HEAD_BYTES)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head[1:6:2] == b"\0\0\0":
            raise DataError(f"{path} is in UTF-16: save it as UTF-8")
        if not head:
            raise DataError(f"{path} is empty (0 bytes): copy or download it again")
        if fault := describe_misnamed_table(head):
            raise DataError(f"{path} {fault}")
        file.seek(0)
        yield BoundedLines(io.TextIOWrapper(file, "utf-8-sig", newline=""), MOST_ROW)


def _read_separated(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str | None, Any]]:
    with _lines_of(path) as lines:
        rows = csv.DictReader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
        rows.fieldnames = [*map(nfc, rows.fieldnames or ())]
        _require_columns(path, wanted, rows.fieldnames)
        while (row := _next_wide(rows, lines)) is not None:
            yield row


def _next_wide(rows: csv.DictReader[str], lines: BoundedLines) -> dict[str | Any, str | Any] | None:
    """Read the next row, which may have long fields, and restore the csv module's process-wide limit."""
    before = csv.field_size_limit(4 * MOST_BYTES)
    lines.left = MOST_ROW
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(before)


def _lines(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str | None, Any]]:
    first = True
    with _lines_of(path) as lines:
        for line in lines:
            lines.left = MOST_ROW
            if not line.strip():
                continue
            row = parse_json(line)
            if not isinstance(row, dict):
                raise ValueError("a row is no object")
            row = row if line.isascii() else {nfc(name): value for name, value in row.items()}
            if first:
                _require_columns(path, wanted, tuple(row))
            first = False
            yield row


def _parquet(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str | None, Any]]:
    """Yield the rows of a Parquet file, page by page; only the wanted columns are loaded."""
    from pyarrow import parquet, types

    with open_file(path, MOST_FILE_BYTES) as source:
        schema = parquet.ParquetFile(source).schema_arrow
        _require_columns(path, wanted, [*map(nfc, schema.names)])
        names = [name for name in schema.names if nfc(name) in wanted]
        for name in names:
            if not _is_cell(types, schema.field(name).type):
                raise DataError(
                    f"{path}: column {name!r} holds lists, records or bytes; it needs one value in each row"
                )
        # Strings stay dictionary-encoded until their total length is known: one long string may fill millions
        # of rows.
        file = parquet.ParquetFile(source, read_dictionary=names, pre_buffer=False, buffer_size=PAGE_BUFFER)
        left = max(LEAST_UNPACKED, 100 * path.stat().st_size)
        _require_bearable(path, file.metadata, names, left)
        for batch in file.iter_batches(columns=names, batch_size=BATCH_ROWS):
            size = sum(map(_text_bytes, batch.columns)) + ROW_BYTES * batch.num_rows
            # The limit applies to the sum over batches, so that many moderate batches do not exceed it.
            left -= size
            if left < 0 or size > MOST_BATCH:
                raise _unbearable(path)
            yield from batch.rename_columns([*map(nfc, batch.schema.names)]).to_pylist()


def _require_bearable(path: Path, metadata: Any, names: Sequence[str], most: int) -> None:  # noqa: ANN401
    """Refuse a file whose footer declares too many rows or too many unpacked bytes in the wanted columns."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    chunks = [chunk for chunk in chunks if chunk.path_in_schema in names]
    if max(metadata.num_rows, *(chunk.num_values for chunk in chunks), 0) > MOST_TEXTS:
        raise DataError(f"{path} holds more than {MOST_TEXTS:,} texts: use a smaller dataset")
    if sum(abs(chunk.total_uncompressed_size) for chunk in chunks) > most:
        raise _unbearable(path)
    # In this encoding, each text is a prefix of the previous text plus a rest, and may unpack to any length.
    if any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks):
        raise DataError(
            f"{path} uses the encoding DELTA_BYTE_ARRAY, which is not supported: write the table without "
            "this encoding, or as .jsonl"
        )


def _unbearable(path: Path) -> DataError:
    return DataError(f"{path} unpacks to more than a hundred times its size: write its texts as .jsonl")


def _is_cell(types: Any, kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    """True for a column of strings, numbers, dates or nulls."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    plain = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer)
    return any(
        fits(kind) for fits in (*plain, types.is_floating, types.is_boolean, types.is_temporal, types.is_null)
    )


def _text_bytes(column: Any) -> int:  # noqa: ANN401 - pyarrow has no types
    """Return the number of bytes of a column's texts without unpacking them; 0 for numbers."""
    from pyarrow import compute, types

    if not types.is_dictionary(column.type) or types.is_integer(column.type.value_type):
        return 0
    lengths = compute.binary_length(column.dictionary).fill_null(0)
    return compute.sum(lengths.take(column.indices.drop_null())).as_py() or 0


_FILES = re.compile(r"((file|image|img)s?|dicom)_?(name|path|file|id)?|path", re.IGNORECASE)
"""Usual names of columns with paths of images."""


def _require_columns(path: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing and len(there) == 1 and (mark := _other_separator(there[0])):
        kind = "a .tsv" if path.suffix.lower() == ".tsv" else "a .csv"
        needed = "tabs" if kind == "a .tsv" else "commas"
        raise DataError(
            f"{path} has {mark} between its cells, but {kind} file needs {needed}: save it with that separator"
        )
    if missing and (files := next((name for name in there if _FILES.fullmatch(name.strip())), None)):
        raise DataError(
            f"{path} lists files in its column {files!r}, but tables can contain only texts. For images, make one "
            "folder per label, move the images into these folders, and give their parent folder to --private"
        )
    if missing:
        offers = ", ".join(map(repr, there[:10])) or "none"
        raise DataError(
            f"{path} has no column {missing[0]!r}: it has {offers}; data.text_column, data.label_column, "
            "data.unit_column and data.secret_columns select others"
        )
    if twice := [name for name in wanted if list(there).count(name) > 1]:
        raise DataError(f"{path} has two columns {twice[0]!r}: rename one")


def _other_separator(line: str) -> str:
    """Name the likely separator of a header that was read as one cell; empty if unknown."""
    marks = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
    found = max(marks, key=line.count)
    return marks[found] if found in line else ""


def read_folder(path: Path, label: str | None) -> Iterator[Row]:
    """Yield the files of class folders, or of all folders as one class."""
    folders = Folders()
    for file in sorted(folders.files_below(path)):
        name = file.relative_to(path).as_posix()
        text, fault = None, ""
        if file.suffix.lower() != ".txt" or (label is None and len(file.relative_to(path).parts) != 2):
            fault = "is not a .txt file in a class folder"
        else:
            try:
                text = read_text(read_file(file, MOST_BYTES))
            except OSError as error:
                fault = f"cannot be read: {error.strerror}"
            else:
                fault = "" if text else f"is empty, not in UTF-8, or of over {MOST_BYTES:,} bytes"
        yield name, text, label or nfc(file.parent.name), None, (), fault
    for fault in folders.faults:
        yield fault, None, label, None, (), fault
