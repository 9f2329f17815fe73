"""Rebuilds a release from the record, and its other forms from the release, and compares them byte for byte.

Cards are views, so their words may differ; the figures of their promise may not. The card that this version renders
from the record is the measure of both.

Of the data one thing may differ, and only where images were given a released appearance: that is float64 arithmetic, in
which processors may differ by the last bit, and a value that lies within it of the middle between two levels is rounded
to either. With twelve digits to spare that is expected once in a hundred thousand datasets; ``MOST_ROUNDED`` such
values are let pass in a whole dataset, and the audit says what they could carry.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from pcevolve.evolution import Population
from pcevolve.modality import Medium, UnreadableError, find_medium
from pcevolve.modality.images.appearance import Appearance, find_released_appearance
from pcevolve.public.finding import Finding
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.dataset import make_export_files, name_shards
from pcevolve.publish.release import (
    Release,
    collect_facts,
    describe_file,
    make_classifier,
    name_files,
    read_facts,
    write_card,
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
    kind_of,
)
from pcevolve.transcript.records import Manifest, ReleasedImage
from pcevolve_shared.reading import parse_json, read_file

MOST_ROUNDED = 1
"""Values, of all pixels and channels of a dataset, that may be one level off."""
FOOTER = 100_000
"""Bytes at the end of a Parquet file in which its writer is looked for."""
_WRITER = re.compile(rb"parquet-cpp-arrow version ([0-9.]{1,20})")
CARDS_CLAIM: Final = "the cards say what the record gives"
OTHER_WORDS: Final = (
    "not this version's words; its figures are those of the manifest, and nobody read the rest"
)
MOST_ABOVE: Final = 1.01
"""How far above a figure of the manifest a rounded one may lie, as a factor; below it none may."""
_SAYS: Final = r"[\s=<≤≈~:]|\bis\b|\bof\b|\bat most\b|\bequals\b"
_IS: Final = rf"[*_`$(]*(?:{_SAYS})(?:[*_`$(]|{_SAYS})*([0-9][0-9.,]*(?:e[-+]?[0-9]+)?)"
"""What may stand between a name and its figure; each character in one way alone, so that it is read in one pass."""
_FIGURES: Final = {
    "epsilon": re.compile(rf"(?:\bepsilon|[εϵ𝜀]){_IS}", re.IGNORECASE),
    "delta": re.compile(rf"(?:\bdelta|[δ𝛿]){_IS}", re.IGNORECASE),
}
_WORDS: Final = {
    "neighbour relation": re.compile(r"neighbou?r\w* relation\W{0,9}(replace-one|add-remove)", re.IGNORECASE),
    "privacy unit": re.compile(r"privacy unit\W{0,4}one (\w+)", re.IGNORECASE),
}


@dataclass(frozen=True)
class JudgedCard:
    """A card that is no rendering of this version; without ``faults`` it is in other words alone."""

    path: str
    faults: tuple[str, ...]


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

    @cached_property
    def other_cards(self) -> list[JudgedCard]:
        """The cards that this version does not render so."""
        found = []
        for path, form in _cards(self).items():
            # What this version would write is the measure, so that nothing about its words is written down twice.
            expected = write_card(self.release, len(self.files), form)
            try:
                text = read_file(self.run.layout.root / path, MOST_BYTES)
            except OSError as error:
                found.append(JudgedCard(path, (f"cannot be read: {error.strerror}",)))
                continue
            if text != expected.encode():
                found.append(JudgedCard(path, tuple(_card_faults(self, text, expected))))
        return found

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


def check_cards(released: RebuiltRelease) -> Finding:
    """Check if the cards beside a release and its other forms are this version's, or at least state its figures."""
    other = released.other_cards
    faults = tuple(f"{each.path} {fault}" for each in other for fault in each.faults)
    unchecked = ", ".join(each.path for each in other if not each.faults)
    return Finding(
        CARDS_CLAIM, faults, len(_cards(released)), f"{unchecked}: {OTHER_WORDS}" if unchecked else ""
    )


def _cards(released: RebuiltRelease) -> dict[str, Form | None]:
    """Paths of the cards that are there, and the form that each lies beside."""
    exports: dict[str, Form | None] = {f"{folder}/{CARD}": form for form, folder in EXPORTS.items()}
    paths = {f"{RELEASE}/{CARD}": None} | exports
    root = released.run.layout.root
    return {path: form for path, form in paths.items() if kind_of(root / path) == stat.S_IFREG}


def _card_faults(released: RebuiltRelease, found: bytes, expected: str) -> Iterator[str]:
    """Yield each false statement of a card; ``expected`` is this version's rendering of it."""
    text = found.decode(errors="replace")
    promised = released.release.guarantee
    stated, true = read_facts(text), collect_facts(released.plan, promised)
    # The facts at the top come first: they are what a program reads of a card, so they must be there and true.
    if stated is None or not true.keys() <= stated.keys():
        yield "says nothing that can be checked: the facts at its top are missing, or are no facts"
        return
    for name, value in true.items():
        if stated[name] != value:
            yield f"states {name} {_spell_out(stated[name])}, and the manifest {_spell_out(value)}"
    losses = (promised.epsilon_spent, promised.epsilon_folder, promised.epsilon_budget)
    yield from _figures("epsilon", text, expected, [each for each in losses if each is not None])
    yield from _figures("delta", text, expected, [promised.delta])
    for name, pattern in _WORDS.items():
        for word in sorted(set(pattern.findall(text)) - set(pattern.findall(expected))):
            yield f"states {name} {_spell_out(word)}, which is not the manifest's"


def _figures(name: str, text: str, expected: str, promised: list[float]) -> Iterator[str]:
    """Figures in a card's text that are neither in this version's, nor the manifest's rounded up."""
    pattern = _FIGURES[name]
    ours = set(map(_value, pattern.findall(expected)))
    for figure in sorted({each.rstrip(".,") for each in pattern.findall(text)}):  # a sentence may end with it
        value = _value(figure)
        # Never below: rounding a loss down is what a card must not do.
        if value not in ours and not any(each <= value <= each * MOST_ABOVE for each in promised):
            yield f"states {name} {_spell_out(figure)}, which is no figure of the manifest"


def _value(figure: str) -> float:
    """The number in a text; NaN, which equals nothing, for what is none."""
    try:
        return float(figure.rstrip(".,"))
    except ValueError:
        return math.nan


def _spell_out(value: object) -> str:
    """A value of a card's, with nothing in it that a terminal would obey."""
    return ascii(value)[:100]
