"""Rebuild a release from the record, and its exports from the release, and compare the bytes.

Cards are pages. They are rebuilt too, but a card that differs is only listed as not verified.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pcevolve.public.finding import Finding
from pcevolve.public.loop.lineage import Population
from pcevolve.public.media import UnreadableError, find_medium
from pcevolve.public.media.images.appearance import find_released_appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.exports import make_export_files, name_shards
from pcevolve.public.publish.release import (
    DatasetRelease,
    describe_file,
    make_classifier,
    name_files,
    write_card,
)
from pcevolve.public.settings import Form
from pcevolve.public.transcript.chain import MOST_BYTES
from pcevolve.public.transcript.irregular import find_file_faults, find_irregular_files, kind_of
from pcevolve.public.transcript.layout import CARD, CLASSIFIER, EXPORTS, MANIFEST, RELEASE
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Manifest, ReleasedImage
from pcevolve_shared.reading import parse_json, read_file

FOOTER = 100_000
"""Number of bytes, at the end of a Parquet file, that are searched for the name of the file's writer."""
_WRITER = re.compile(rb"parquet-cpp-arrow version ([0-9.]{1,20})")


@dataclass
class RebuiltRelease:
    """A release rebuilt from the record, compared with the released files.

    Attributes:
        dataset: The candidates that must be in the release, by class.
        files: The release's images. Like ``unreadable``, the list is complete after ``faults``.
    """

    run: RunReader
    plan: PublicPlan
    dataset: Population
    files: list[ReleasedImage] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def faults(self) -> Iterator[str]:
        """Yield everything in the release that does not follow from the record."""
        # The images first, because the rebuilt manifest lists them.
        yield from self._find_other_images()
        yield from self._find_difference(MANIFEST, self.manifest().encode())
        due = {each.path for each in self.files} | {MANIFEST, CARD}
        means = make_classifier(self.plan, self.release.receipts, self.run.bodies.file)
        if means is not None:
            yield from self._find_difference(CLASSIFIER, means)
            due.add(CLASSIFIER)
        yield from find_file_faults(self.run.layout.root, RELEASE, due, "is not part of the dataset")

    def manifest(self) -> Manifest:
        """Return the manifest that follows from record and images; complete after ``faults``."""
        return self.release.manifest(self.files, self.unreadable)

    @cached_property
    def release(self) -> DatasetRelease:
        """The release that the record describes."""
        return DatasetRelease.of(self.run, self.dataset)

    def render_card(self) -> bytes:
        """Return the release's card; complete after ``faults``."""
        return write_card(self.release, self.files).encode()

    @property
    def cards(self) -> dict[str, Form | None]:
        """Paths of the existing cards, each with the format of its export; None for the release itself."""
        forms: dict[str, Form | None] = {RELEASE: None, **{folder: form for form, folder in EXPORTS.items()}}
        paths = {f"{folder}/{CARD}": form for folder, form in forms.items()}
        return {
            path: form for path, form in paths.items() if kind_of(self.run.layout.root / path) == stat.S_IFREG
        }

    @cached_property
    def other_cards(self) -> list[str]:
        """Paths of the cards that differ from this version's rendering."""
        made = {
            path: write_card(self.release, self.files, form).encode() for path, form in self.cards.items()
        }
        return [path for path, card in made.items() if not holds_bytes(self.run.layout.root / path, card)]

    def _find_other_images(self) -> Iterator[str]:
        """Encode the provider's images again in the released appearance, and yield released images that differ."""
        wanted, medium = find_released_appearance(self.run.receipts), find_medium(self.plan.modality.kind)
        for path, candidate in name_files(self.plan, self.dataset).items():
            try:
                expected = medium.encode_release(self.run.bodies.file(candidate.digest), wanted)
            except UnreadableError:
                self.unreadable.append(candidate.id)
                continue
            self.files.append(describe_file(path, expected, candidate))
            yield from self._find_difference(path, expected)

    def _find_difference(self, name: str, expected: bytes) -> Iterator[str]:
        """Compare a file of the release, if it exists, with the expected bytes."""
        try:
            found = read_file(self.run.layout.release / name, MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return  # the check of the folder reports a missing file; an unreadable one raises ``OSError``
        if found != expected:
            fields = _name_differing(found, expected) if name == MANIFEST else ""
            yield f"release/{name} is not what the record gives{fields}"


def holds_bytes(path: Path, expected: bytes) -> bool:
    """True if a file holds exactly these bytes. No more bytes than these are read."""
    try:
        return path.stat().st_size == len(expected) and read_file(path, len(expected)) == expected
    except OSError:
        return False


def check_exports(released: RebuiltRelease) -> list[Finding]:
    """Return a finding for each export of the release, whose images were compared before."""
    root = released.run.layout.root
    return [_finding(released, form) for form, name in EXPORTS.items() if (root / name).is_dir()]


def export_claim(form: Form) -> str:
    """Return the claim about an export of the release."""
    return f"so is the dataset as {form}"


def _finding(released: RebuiltRelease, form: Form) -> Finding:
    claim = export_claim(form)
    odd = tuple(find_irregular_files(released.run.layout.root, EXPORTS[form]))
    made = released.plan.modality
    if form not in made.forms:
        return Finding(claim, (f"{EXPORTS[form]} is no form of a dataset of {made.nouns.many}",), 0)
    if odd:
        return Finding(claim, odd, len(odd))
    try:
        why = _why_unchecked(released.run.layout.export(form), form)
        faults = tuple(_faults(released, form, images=not why))
    except OSError as error:
        return Finding(claim, (f"{error.filename} cannot be read: {error.strerror}",), 0)
    return Finding(claim, faults, 0 if why else len(released.files), why)


def _faults(released: RebuiltRelease, form: Form, *, images: bool) -> Iterator[str]:
    """Yield files of an export that differ from the release, are missing, or do not belong to it.

    ``images`` is True if the files with images can be rebuilt.
    """
    layout, files = released.run.layout, released.files
    due = {*name_shards(form, len(files)), CARD}
    made = make_export_files(form, released.release, files, lambda path: (layout.release / path).read_bytes())
    for name, expected in made if images else ():
        path = layout.export(form) / name
        if name != CARD and path.is_file() and not holds_bytes(path, expected):
            yield f"{EXPORTS[form]}/{name} is not what the release gives"
    yield from find_file_faults(layout.root, EXPORTS[form], due, "is not part of the dataset")


def _why_unchecked(folder: Path, form: Form) -> str:
    """Return why the bytes of an export cannot be rebuilt here; empty if they can."""
    if form != "parquet":
        return ""
    try:
        here = version("pyarrow")
    except PackageNotFoundError:
        return "pyarrow is not installed, which wrote it"
    # Another version of pyarrow may write the same rows as other bytes. They are then reported as unchecked.
    writers = {_writer(path) for path in folder.glob("data/*.parquet")} - {here}
    return f"it was written by pyarrow {min(writers)}, and here is {here}" if writers else ""


def _writer(path: Path) -> str:
    """Return the writer's version from the end of a Parquet file, without parsing the file."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - FOOTER))
        found = _WRITER.findall(file.read())
    return found[-1].decode() if found else "of no known version"


def _name_differing(found: bytes, expected: bytes) -> str:
    """Name the fields in which two manifests differ, if any."""
    try:
        ours, theirs = _flat(parse_json(expected)), _flat(parse_json(found))
    except (ValueError, AttributeError):
        return ""
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    return f": {', '.join(ascii(name)[1:-1] for name in names[:5])}" if names else ""


def _flat(content: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested fields to ``part.field``."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= (
            {f"{name}.{each}": one for each, one in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
    return flat
