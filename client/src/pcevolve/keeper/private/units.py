"""Privacy units: a CSV file groups images, for example by patient."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np

from pcevolve.errors import DataError, printable
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.layouts import names_nobody
from pcevolve.keeper.private.listing import UnitMap, list_some
from pcevolve.public.modality import SINGLE
from pcevolve.public.words import find_label_fault, nfc
from pcevolve_shared.reading import read_file

MAX_BYTES = 100_000_000
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
_EXAMPLE = "a first line like file,patient, then one image and its unit per line"


def group_into_units(data: PrivateDataset, units: UnitMap) -> PrivateDataset:
    names, unit_of = np.unique([units.of[name] for name in data.names], return_inverse=True)
    return replace(
        data, unit_of=unit_of.astype(np.int64), unit_name=units.kind, unit_names=tuple(map(str, names))
    )


def read_units(path: Path, there: Sequence[str]) -> UnitMap:
    """Read the unit of each image of a folder.

    Canonically equivalent Unicode spellings are one name.

    Args:
        path: CSV in UTF-8 with two columns: the path of an image inside the folder, and the image's unit.
            The first line is a header whose second column names the kind of unit (``patient``). That name
            is public, and the rest is private.
        there: Paths of all images inside the folder.

    Raises:
        DataError: The file cannot be read, or does not list every image of the folder exactly once.
    """
    header, *lines = _rows(path)
    files, units = [_normalise(file) for file, _ in lines], [normalise_unit(unit) for _, unit in lines]
    _check_header(path, header, set(there))
    _refuse(path, "has no unit for", [file for file, unit in zip(files, units, strict=True) if not unit])
    _refuse(path, "lists twice:", [file for file, count in Counter(files).items() if count > 1])
    listed, known = dict(zip(files, units, strict=True)), set(there)
    _refuse(path, "does not list", [name for name in there if name not in listed])
    _refuse(path, "lists what is not in the private folder:", [file for file in files if file not in known])
    return UnitMap(header[1], listed)


def map_folders(there: Sequence[str]) -> UnitMap | None:
    """Map images to patients by the folder within the class folder; None if there are no such folders.

    An image that lies directly in the class folder is its own unit.
    """
    parts = {name: name.split("/") for name in there}
    inner = {each[1] for each in parts.values() if len(each) > 2}
    if all(map(names_nobody, inner)):
        return None
    return UnitMap(
        "patient", {name: normalise_unit(each[1]) if len(each) > 2 else name for name, each in parts.items()}
    )


def describe_link(kind: str) -> str:
    """Explain what links units of two datasets, and what keeps two sources apart."""
    return (
        f"a {kind} is recognised in other datasets by its name: the same name counts as the same {kind}, "
        "and everything spent on either counts for both; data.unit_namespace=WORD separates two sources"
    )


def write_units(path: Path, there: Sequence[str]) -> None:
    """Write a map for ``read_units``: each folder within a class folder is a patient (``DataError`` without one)."""
    found = map_folders(there)
    if found is None:
        raise DataError(f"--write-unit-map {path}: no image is in a patient's folder inside a class folder")
    if odd := [name for name in there if _normalise(name).strip() != name or not _is_unicode(name)]:
        raise DataError(
            f"--write-unit-map {path}: {printable(list_some(odd))} cannot be listed: rename files and folders "
            "whose names have a backslash, or a blank at an end, or are not in Unicode"
        )
    try:
        with path.open("x", newline="", encoding="utf-8") as file:
            file.write(f"# {describe_link(found.kind)}\r\n")
            csv.writer(file).writerows([("file", found.kind), *found.of.items()])
    except FileExistsError:
        raise DataError(
            f"--write-unit-map {path} already exists: use it with --unit-map {quote(str(path))}, or give "
            "another file"
        ) from None
    except OSError as error:
        raise DataError(f"--write-unit-map {path} cannot be written: {error.strerror}") from None


def require_unit_size(units: Sequence[str], names: Sequence[str], kind: str, most: int) -> None:
    """Refuse data in which a unit, drawn or not, has more images than declared (``DataError`` names it)."""
    # Reversed, so that the dictionary keeps each unit's first image.
    counts, first = Counter(units), dict(zip(reversed(units), reversed(names), strict=True))
    files = sorted(first[unit] for unit, count in counts.items() if count > most)
    if files:
        raise DataError(
            f"a {kind} has more images than data.unit_size {most} allows, such as the {kind} with {list_some(files)}: "
            "give a larger number, or leave images out"
        )


def _rows(path: Path) -> list[list[str]]:
    """Return the non-empty lines as two stripped cells each; comments may come first."""
    try:
        # Comments are skipped here, because the csv module would read their commas as separators.
        lines = io.StringIO(read_file(path, MAX_BYTES).decode("utf-8-sig"), newline="")
        comments = 0
        while lines.read(1) == "#":
            lines.readline()
            comments += 1
        lines.seek(0)
        for _ in range(comments):
            lines.readline()
        rows = enumerate(csv.reader(lines, strict=True), comments + 1)
        numbered = [(number, row) for number, row in rows if row]
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a CSV file in UTF-8"
        raise DataError(f"--unit-map {path} cannot be read: {reason}") from None
    odd = [str(number) for number, row in numbered if len(row) != 2]
    if odd or len(numbered) < 2:
        where = f" (not so: line {list_some(odd)})" if odd else ""
        raise DataError(f"--unit-map {path} must have two columns, {_EXAMPLE}{where}")
    return [[cell.strip() for cell in row] for _, row in numbered]


def _check_header(path: Path, header: Sequence[str], names: set[str]) -> None:
    if _normalise(header[0]) in names:
        raise DataError(f"--unit-map {path} begins with an image: it needs {_EXAMPLE}")
    if find_label_fault(header[1]) is not None:
        raise DataError(f"--unit-map {path} does not name the unit in its first line: it needs {_EXAMPLE}")
    if header[1].casefold() in SINGLE:
        raise DataError(
            f"--unit-map {path} calls its unit an image: use a word for what its images have "
            "in common, such as patient"
        )


def normalise_unit(name: str) -> str:
    """Normalise a unit's name; integers lose a trailing ".0", which some programs add."""
    spelled = nfc(name).strip()
    whole = _WHOLE.fullmatch(spelled)
    return whole[1] if whole else spelled


def _is_unicode(name: str) -> bool:
    """True unless a name contains bytes that are not valid text; file systems may return such names."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


def _normalise(file: str) -> str:
    """Normalise a path to the dataset's spelling, whichever program wrote the CSV."""
    return nfc(file).replace("\\", "/").removeprefix("./")


def _refuse(path: Path, fault: str, names: Sequence[str]) -> None:
    """Raise one line that names the first files and counts the others; do nothing without files."""
    if names:
        advice = "list every image once, by its path inside the private folder"
        raise DataError(f"--unit-map {path} {fault} {list_some(names)}; {advice}")
