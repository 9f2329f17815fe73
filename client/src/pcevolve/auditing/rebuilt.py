"""Rebuilds the data of the release from the record: every image, the manifest and the classifier, byte for byte.

One thing may differ, and only where images were given a released appearance: that is float64 arithmetic, in which
processors may differ by the last bit, and a value that lies within it of the middle between two levels is rounded to
either. With twelve digits to spare that is expected once in a hundred thousand datasets; ``MOST_ROUNDED`` such values
are let pass in a whole dataset, and the audit says what they could carry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pcevolve.evolution import Population
from pcevolve.modality.images.appearance import Appearance, appearance_in
from pcevolve.modality.media import medium
from pcevolve.modality.medium import Medium, UnreadableError
from pcevolve.public.plan import PublicPlan
from pcevolve.publish import Release, classifier, released_image, released_paths
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import MOST_BYTES
from pcevolve.transcript.layout import CARD, CLASSIFIER, MANIFEST, RELEASE, file_faults
from pcevolve.transcript.manifest import Manifest, ReleasedImage
from pcevolve_shared.reading import parse_json, read_file

MOST_ROUNDED = 1
"""Values, of all pixels and channels of a dataset, that may be one level off."""


@dataclass
class RebuiltRelease:
    """A release as the record gives it, compared with what lies there.

    Attributes:
        run: The record, and where the release lies.
        plan: The public plan.
        dataset: The candidates that have to be in it, by class.
        values: Pixels times channels of the images that were matched.
        rounded: How many of them are one level off.
        off: In which images.
        files: What the manifest has to say about each image.
        unreadable: Candidates of the dataset that cannot be used.
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
        release = self.release
        yield from self._images(release, appearance_in(self.run.receipts))
        if self.rounded > MOST_ROUNDED:
            where = ", ".join(f"release/{path}" for path in self.off[:5])
            yield f"{where}: {self.rounded} values are one level off, and rounding explains {MOST_ROUNDED}"
        yield from self._same_text(MANIFEST, self.manifest().encode())
        due = {each.path for each in self.files} | {MANIFEST, CARD}
        means = classifier(self.plan, release.receipts, self.run.bodies.file)
        if means is not None:
            yield from self._same_text(CLASSIFIER, means)
            due.add(CLASSIFIER)
        yield from file_faults(self.run.layout.root, RELEASE, due, "is not part of the dataset")

    @property
    def capacity(self) -> int:
        """Bits that a forger could hide in what rounding is forgiven for; none where no image was matched."""
        ways = sum(math.comb(self.values, count) * 2**count for count in range(MOST_ROUNDED + 1))
        return math.ceil(math.log2(ways))

    @property
    def _medium(self) -> Medium:
        return medium(self.plan.modality.kind)

    def manifest(self) -> Manifest:
        """The manifest that the record and the images give; all of it once ``faults`` was asked for."""
        return self.release.manifest(self.files, self.unreadable)

    @cached_property
    def release(self) -> Release:
        """The release as the record states it."""
        return Release.of(self.run, self.dataset)

    def _images(self, release: Release, wanted: Appearance | None) -> Iterator[str]:
        """Images of the dataset that are not what the provider sent, cleaned and in the released appearance."""
        for path, candidate in released_paths(release.plan, release.population).items():
            try:
                expected = self._medium.released(self.run.bodies.file(candidate.digest), wanted)
            except UnreadableError:
                self.unreadable.append(candidate.id)
                continue
            self.values += 0 if wanted is None else self._medium.values(expected)
            found = self._read(path)
            self.files.append(released_image(path, expected if found is None else found, candidate))
            if found is not None and found != expected:
                yield from self._unlike(path, found, expected, exact=wanted is None)

    def _read(self, path: str) -> bytes | None:
        """A file of the release; None where there is none, which the faults of the folder tell.

        Raises:
            OSError: It cannot be read: what nobody can check does not pass.
        """
        try:
            return read_file(self.run.layout.release / path, MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def _unlike(self, path: str, found: bytes, expected: bytes, exact: bool) -> Iterator[str]:
        """Yield what is wrong with an image that differs from the expected one by more than rounding."""
        compared = self._medium.compared(found, expected, exact)
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
