"""Private texts: rows of a table, or files in class folders. They stay on this machine.

A dataset is complete or it is refused: a text that cannot be used is never skipped, because the shots per class are
part of what a run declares.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.errors import DataError, UsageError
from pcevolve.ledger.units import TEXT
from pcevolve.modality.texts.reading import MOST_BYTES, Text, plain, read
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.listing import refuse
from pcevolve.private.sources import require_folder
from pcevolve.private.subsample import chosen, drawn_places
from pcevolve.private.units import composed
from pcevolve.public.labels import SYSTEM_FILES, label_fault, label_faults

MOST_TEXTS = 4_000_000
"""Half of as many as may be added up exactly, see ``selectors.scene.rounded_down``."""
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


@dataclass(frozen=True, repr=False)
class Records:
    """Private texts as they were read.

    Attributes:
        names: Where each stands, for the owner.
        texts: In their normal form.
        labels: Of each.
        units: What the owner calls each one's unit; empty where each text is a unit.
        marks: Of each, its values in the columns of secrets; empty where there are none.
    """

    names: tuple[str, ...]
    texts: tuple[Text, ...]
    labels: tuple[str, ...]
    units: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        return "Records"

    def some(self, places: Sequence[int]) -> Records:
        """The texts at some places, in that order."""
        return Records(
            names=chosen(self.names, places),
            texts=chosen(self.texts, places),
            labels=chosen(self.labels, places),
            units=chosen(self.units, places),
            marks=chosen(self.marks, places),
        )

    def drawn(self, count: int, seed: int) -> tuple[Records, Records]:
        """Draw units of each class; see ``subsample.subsampled``.

        Returns:
            The texts that were drawn, and all texts of units that were not.
        """
        known = sorted(set(self.labels))
        targets = [known.index(label) for label in self.labels]
        drawn, rest = drawn_places(self.units or self.names, targets, count, seed)
        return self.some(drawn), self.some(rest)

    def dataset(self, kind: str | None, labels: Sequence[str] = (), *, unique: bool = True) -> PrivateDataset:
        """The texts as a dataset.

        Args:
            kind: What a unit is; None where each text is one.
            labels: Of the dataset, where some may have no text here; else all that there are.
            unique: Refuse the same text twice: the unit's share in every vote would be two, and the guarantee is stated
                for one. False for held-out data, which no vote sees.

        Raises:
            DataError: A text stands there twice.
        """
        known = tuple(labels) or tuple(sorted(set(self.labels)))
        digests = tuple(hashlib.sha256(b"text\n" + text.encode()).digest() for text in self.texts)
        if unique:
            _refuse_twins(self.names, digests)
        names, unit_of = np.unique(self.units, return_inverse=True) if self.units else ((), np.empty(0))
        return PrivateDataset(
            labels=known,
            items=self.texts,
            targets=np.array([known.index(label) for label in self.labels], dtype=np.int64),
            digests=digests,
            unit_of=unit_of.astype(np.int64),
            unit_name=kind or TEXT,
            unit_names=tuple(map(str, names)),
            names=self.names,
            marks=self.marks,
        )


def require_records(path: Path, option: str) -> None:
    """Refuse a path that holds no texts, before anything of it is read.

    Raises:
        DataError: It is neither a folder nor a table.
        UsageError: Its library is not installed.
    """
    if path.is_file():
        _reader(path)
    else:
        require_folder(path, OF_TEXTS, option)


def read_records(path: Path, columns: Columns, label: str | None = None) -> Records:
    """Read all private texts of a table or of class folders.

    Args:
        path: A table, or a folder whose subfolders hold ``.txt`` files.
        columns: Of a table; a folder has none.
        label: Public name of the one class, where labels are not to be looked at.

    Raises:
        DataError: What is wrong, by up to five rows or files, in one line; nothing of a text is repeated.
        UsageError: The library that reads the table is not installed.
    """
    rows = _table(path, columns, label) if path.is_file() else _folder(path, label)
    names: list[str] = []
    texts: list[Text] = []
    labels: list[str] = []
    units: list[str] = []
    marks: list[tuple[str, ...]] = []
    faults: list[str] = []
    for name, text, of_class, unit, held in rows:
        fault = _fault(text, of_class, unit, columns)
        if fault:
            faults.append(f"{name} {fault}")
        if len(names) == MOST_TEXTS:
            raise DataError(f"{path} holds more than {MOST_TEXTS:,} texts: use a smaller dataset")
        names.append(name)
        texts.append(text or "")
        labels.append(of_class or "")
        units.append(unit or "")
        marks.append(held)
    refuse(faults)
    if not names:
        raise DataError(f"{path} holds no texts")
    found = sorted(set(labels))
    refuse([f"{fault}; rename it" for fault in label_faults(found)])
    if len(found) == 1 and label is None:
        raise DataError(f"{path} has only one class, {found[0]!r}: at least two are needed, or --unlabelled")
    return Records(
        tuple(names),
        tuple(texts),
        tuple(labels),
        tuple(units) if columns.unit else (),
        tuple(marks) if columns.secrets else (),
    )


_Row = tuple[str, Text | None, str | None, str | None, tuple[str, ...]]
"""Where it stands, its text, its label and its unit, None for what is missing; and its secrets by column."""


def _fault(text: Text | None, label: str | None, unit: str | None, columns: Columns) -> str:
    """Why a row cannot be used; empty if it can."""
    if not text:
        return f"has no text (column {columns.text!r}), or one of over {MOST_BYTES:,} bytes"
    if not label:
        return f"has no label (column {columns.label!r})"
    return f"has no {columns.unit}" if columns.unit and not unit else ""


def _table(path: Path, columns: Columns, label: str | None) -> Iterator[_Row]:
    """Rows of a table, whichever kind of file it is."""
    if columns.unit and label_fault(columns.unit) is not None:
        raise DataError(f"--unit-column {columns.unit!r} says what a unit is: name the column in plain words")
    if path.stat().st_size > MOST_FILE_BYTES:
        raise DataError(f"{path} is larger than {MOST_FILE_BYTES >> 30} GiB: use a smaller dataset")
    wanted = columns.wanted(labelled=label is None)
    number = 0
    try:
        for number, row in enumerate(_reader(path)(path, wanted), 1):
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


def _reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Mapping[str, Any]]]:
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


def _folder(path: Path, label: str | None) -> Iterator[_Row]:
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


def _refuse_twins(names: Sequence[str], digests: Sequence[bytes]) -> None:
    first: dict[bytes, str] = {}
    faults = []
    for name, digest in zip(names, digests, strict=True):
        if first.setdefault(digest, name) != name:
            faults.append(f"{name} has the text of {first[digest]}: remove one")
    refuse(faults)
