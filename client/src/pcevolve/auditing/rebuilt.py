"""Rebuilds a release from the record, and its other forms from the release, and compares them byte for byte.

One thing may differ, and only where images were given a released appearance: that is float64 arithmetic, in which
processors may differ by the last bit, and a value that lies within it of the middle between two levels is rounded to
either. With twelve digits to spare that is expected once in a hundred thousand datasets; ``MOST_ROUNDED`` such values
are let pass in a whole dataset, and the audit says what they could carry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pcevolve.evolution import Population
from pcevolve.modality import Medium, find_medium
from pcevolve.modality.images.appearance import Appearance, find_released_appearance
from pcevolve.modality.medium import UnreadableError
from pcevolve.public.finding import Finding
from pcevolve.public.plan import PublicPlan
from pcevolve.publish import (
    Release,
    describe_file,
    make_classifier,
    make_export_files,
    name_files,
    name_shards,
)
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import MOST_BYTES
from pcevolve.transcript.layout import (
    CARD,
    CLASSIFIER,
    EXPORTS,
    MANIFEST,
    RELEASE,
    Form,
    find_file_faults,
    find_irregular_files,
)
from pcevolve.transcript.manifest import Manifest, ReleasedImage
from pcevolve_shared.reading import parse_json, read_file

MOST_ROUNDED = 1
"""Values, of all pixels and channels of a dataset, that may be one level off."""
FOOTER = 100_000
"""Bytes at the end of a Parquet file in which its writer is looked for."""
_WRITER = re.compile(rb"parquet-cpp-arrow version ([0-9.]{1,20})")


@dataclass
class RebuiltRelease:
    """A release as the record gives it, compared with what lies there.

    Attributes:
        dataset: The candidates that have to be in it, by class.
        values: Pixels times channels of the images that were matched.
        rounded: How many of them are one level off; ``off`` says in which images.
    """

    run: RunReader
    plan: PublicPlan
    dataset: Population
    values: int = 0
    rounded: int = 0
    off: list[str] = field(default_factory=list)
    files: list[ReleasedImage] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def faults(self) -> Iterator[str]:
        """Everything in the release that the record does not give."""
        # The images first: the manifest to compare with is made of what they turn out to be.
        release = self.release
        yield from self._images(release, find_released_appearance(self.run.receipts))
        if self.rounded > MOST_ROUNDED:
            where = ", ".join(f"release/{path}" for path in self.off[:5])
            yield f"{where}: {self.rounded} values are one level off, and rounding explains {MOST_ROUNDED}"
        yield from self._same_text(MANIFEST, self.manifest().encode())
        due = {each.path for each in self.files} | {MANIFEST, CARD}
        means = make_classifier(self.plan, release.receipts, self.run.bodies.file)
        if means is not None:
            yield from self._same_text(CLASSIFIER, means)
            due.add(CLASSIFIER)
        yield from find_file_faults(self.run.layout.root, RELEASE, due, "is not part of the dataset")

    @property
    def capacity(self) -> int:
        """Bits that a forger could hide in what rounding is forgiven for; none where no image was matched."""
        ways = sum(math.comb(self.values, count) * 2**count for count in range(MOST_ROUNDED + 1))
        return math.ceil(math.log2(ways))

    @property
    def _medium(self) -> Medium:
        return find_medium(self.plan.modality.kind)

    def manifest(self) -> Manifest:
        """The manifest that the record and the images give; all of it once ``faults`` was asked for."""
        return self.release.manifest(self.files, self.unreadable)

    @cached_property
    def release(self) -> Release:
        """The release as the record states it."""
        return Release.of(self.run, self.dataset)

    def _images(self, release: Release, wanted: Appearance | None) -> Iterator[str]:
        """Images of the dataset that are not what the provider sent, cleaned and in the released appearance."""
        for path, candidate in name_files(release.plan, release.population).items():
            try:
                expected = self._medium.encode_release(self.run.bodies.file(candidate.digest), wanted)
            except UnreadableError:
                self.unreadable.append(candidate.id)
                continue
            self.values += 0 if wanted is None else self._medium.count_values(expected)
            found = self._read(path)
            # What lies there goes into the manifest, if it is within rounding: the manifest was made of that file.
            self.files.append(describe_file(path, expected if found is None else found, candidate))
            if found is not None and found != expected:
                yield from self._unlike(path, found, expected, exact=wanted is None)

    def _read(self, path: str) -> bytes | None:
        """A file of the release, None where there is none; ``OSError`` where it cannot be read, which must not pass."""
        try:
            return read_file(self.run.layout.release / path, MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def _unlike(self, path: str, found: bytes, expected: bytes, exact: bool) -> Iterator[str]:
        """Yield what is wrong with an image that differs from the expected one by more than rounding."""
        compared = self._medium.compare(found, expected, exact)
        if compared.fault:
            yield f"release/{path} {compared.fault}"
        else:
            self.rounded += compared.rounded
            self.off.append(path)

    def _same_text(self, name: str, expected: bytes) -> Iterator[str]:
        """Check if manifest or classifier, if it is there, is the expected one to the last byte."""
        found = self._read(name)
        if found is not None and found != expected:
            yield f"release/{name} is not what the record gives{_name_differing(found, expected)}"


def check_exports(released: RebuiltRelease) -> list[Finding]:
    """Make a finding for each form that lies beside the release, whose images have been compared."""
    root = released.run.layout.root
    return [_finding(released, form) for form, name in EXPORTS.items() if (root / name).is_dir()]


def export_claim(form: Form) -> str:
    """Return the claim about a form that lies beside the release."""
    return f"so is the dataset as {form}"


def _finding(released: RebuiltRelease, form: Form) -> Finding:
    claim = export_claim(form)
    odd = tuple(find_irregular_files(released.run.layout.root, EXPORTS[form]))
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

    ``images`` says whether the files with images can be made again.
    """
    layout, files = released.run.layout, released.files
    due = {*name_shards(form, len(files)), CARD}
    made = make_export_files(form, released.release, files, lambda path: (layout.release / path).read_bytes())
    for name, expected in made if images else ():
        path = layout.export(form) / name
        if (
            name != CARD
            and path.is_file()
            and (path.stat().st_size != len(expected) or path.read_bytes() != expected)
        ):
            yield f"{EXPORTS[form]}/{name} is not what the release gives"
    yield from find_file_faults(layout.root, EXPORTS[form], due, "is not part of the dataset")


def _why_unchecked(folder: Path, form: Form) -> str:
    """Say why the bytes of a form cannot be made again here; empty if they can."""
    if form != "parquet":
        return ""
    try:
        here = version("pyarrow")
    except PackageNotFoundError:
        return "pyarrow is not installed, which wrote it"
    # Another writer may lay out the same rows in other bytes, so that is not checked and said so, which is no pass.
    writers = {_writer(path) for path in folder.glob("data/*.parquet")} - {here}
    return f"it was written by pyarrow {min(writers)}, and here is {here}" if writers else ""


def _writer(path: Path) -> str:
    """The version that a Parquet file says it was written by, at its very end; nothing in it is parsed."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - FOOTER))
        found = _WRITER.findall(file.read())
    return found[-1].decode() if found else "of no known version"


def _name_differing(found: bytes, expected: bytes) -> str:
    """Name the fields of a manifest that differ, if some do."""
    try:
        ours, theirs = _flat(parse_json(expected)), _flat(parse_json(found))
    except (ValueError, AttributeError):
        return ""
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    return f": {', '.join(ascii(name)[1:-1] for name in names[:5])}" if names else ""


def _flat(content: dict[str, Any]) -> dict[str, Any]:
    """Fields by name, those of a part as ``part.field``."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= (
            {f"{name}.{each}": one for each, one in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
    return flat
