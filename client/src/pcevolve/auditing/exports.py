"""Makes the other forms of a dataset again from its release, and compares their data byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pcevolve.auditing.rebuilt import RebuiltRelease
from pcevolve.public.finding import Finding
from pcevolve.publish import export_files, shard_names
from pcevolve.transcript.layout import CARD, EXPORTS, Form, file_faults, irregular_files

FOOTER = 100_000
"""Bytes at the end of a Parquet file in which its writer is looked for."""
_WRITER = re.compile(rb"parquet-cpp-arrow version ([0-9.]{1,20})")


def export_findings(released: RebuiltRelease) -> list[Finding]:
    """A finding for each form that lies beside the release; the release itself is compared elsewhere.

    Args:
        released: The release as the record gives it, whose images have been compared.
    """
    root = released.run.layout.root
    return [_finding(released, form) for form, name in EXPORTS.items() if (root / name).is_dir()]


def export_claim(form: Form) -> str:
    """Return the claim about a form that lies beside the release."""
    return f"so is the dataset as {form}"


def _finding(released: RebuiltRelease, form: Form) -> Finding:
    claim = export_claim(form)
    odd = tuple(irregular_files(released.run.layout.root, EXPORTS[form]))
    if odd:
        return Finding(claim, odd, len(odd))
    try:
        why = _why_unchecked(released.run.layout.export(form), form)
        faults = tuple(_faults(released, form, images=not why))
    except OSError as error:
        return Finding(claim, (f"{error.filename} cannot be read: {error.strerror}",), 0)
    return Finding(claim, faults, 0 if why else len(released.files), why)


def _faults(released: RebuiltRelease, form: Form, *, images: bool) -> Iterator[str]:
    """Files that are not what the release gives, are missing, or are no part of the form.

    Args:
        released: The release as the record gives it.
        form: Which one.
        images: Whether the files with images can be made again.
    """
    layout, files = released.run.layout, released.files
    due = {*shard_names(form, len(files)), CARD}
    made = export_files(form, released.release, files, lambda path: (layout.release / path).read_bytes())
    for name, expected in made if images else ():
        path = layout.export(form) / name
        if (
            name != CARD
            and path.is_file()
            and (path.stat().st_size != len(expected) or path.read_bytes() != expected)
        ):
            yield f"{EXPORTS[form]}/{name} is not what the release gives"
    yield from file_faults(layout.root, EXPORTS[form], due, "is not part of the dataset")


def _why_unchecked(folder: Path, form: Form) -> str:
    """Say why the bytes of a form cannot be made again here; empty if they can."""
    if form != "parquet":
        return ""
    try:
        here = version("pyarrow")
    except PackageNotFoundError:
        return "pyarrow is not installed, which wrote it"
    writers = {_writer(path) for path in folder.glob("data/*.parquet")} - {here}
    return f"it was written by pyarrow {min(writers)}, and here is {here}" if writers else ""


def _writer(path: Path) -> str:
    """The version that a Parquet file says it was written by, at its very end; nothing in it is parsed."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - FOOTER))
        found = _WRITER.findall(file.read())
    return found[-1].decode() if found else "of no known version"
