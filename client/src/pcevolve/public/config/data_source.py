"""Parse the source of private data, as written on the command line. No file is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pcevolve.errors import DataError, UsageError
from pcevolve.public.config.options import advise
from pcevolve.public.words import find_label_faults

if TYPE_CHECKING:
    from pcevolve.public.modality import Kind

OF_CLASSES = "with one subfolder of images per class"
OF_IMAGES = "of images"
TERMS = (
    "bird",
    "body part",
    "disease",
    "drug",
    "fish",
    "food",
    "garment",
    "musical instrument",
    "vehicle",
    "weapon",
)
"""Categories of nouns whose meanings ship with the client."""
CELLS = ("platelet", "red blood cells", "single red blood cell", "white blood cell")
"""Kinds of blood cells whose pictures ship with the client."""
BUNDLED = ("digits", "cells", "terms")
"""Words that select the data that ship with the client."""
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
"""Suffixes of tables of texts."""
OWNERS = "owners"
"""The word before the roster in ``owners:ROSTER``, which replaces private data in a run with several owners."""
_DIGIT = re.compile(r"\s*([0-9])\s*(?:=\s*(.*?)\s*)?")
_TERM = re.compile(r"\s*([a-z ]*?[a-z])\s*(?:=\s*(.*?)\s*)?")


@dataclass(frozen=True)
class FolderSource:
    """The owner's folder or table. Its kind of data is determined when it is read."""

    path: Path
    kind: ClassVar[Kind | None] = None


@dataclass(frozen=True)
class DigitsSource:
    """Scikit-learn's handwritten digits, which ``bundled.load_digits`` loads."""

    names: Mapping[int, str]
    kind: ClassVar[Kind | None] = "image"


@dataclass(frozen=True)
class CellsSource:
    """Pictures of blood cells that ship with the client. ``bundled.load_cells`` loads them."""

    names: Mapping[str, str]
    kind: ClassVar[Kind | None] = "image"


@dataclass(frozen=True)
class TermsSource:
    """Meanings of nouns that ship with the client. ``bundled.load_terms`` loads them."""

    names: Mapping[str, str]
    kind: ClassVar[Kind | None] = "text"


AnySource: TypeAlias = FolderSource | DigitsSource | CellsSource | TermsSource


def require_kind(source: AnySource, kind: Kind, option: str) -> None:
    """Refuse shipped data of another kind than the run's (``UsageError``)."""
    if source.kind not in (None, kind):
        from pcevolve.public.modality import MODALITIES  # pydantic takes a moment to import; help needs none

        own = MODALITIES[kind].nouns.many
        raise UsageError(
            f"{option}: these are {MODALITIES[source.kind].nouns.many}, but this run makes {own}: give {own}, or "
            "choose another --dialect"
        )


def find_roster(text: str) -> Path | None:
    """Return the roster of several owners, or None for data of one owner."""
    word, colon, path = text.partition(":")
    return Path(path) if word == OWNERS and colon else None


def parse_source(text: str) -> AnySource:
    """Parse ``PATH``, ``digits``, ``digits:3,5,8``, ``digits:3=A,5=B``, ``cells`` or ``terms:drug,disease=D``.

    A folder named ``digits`` must be written as ``./digits``. A digit without a label is called ``digit N``. Cells
    and nouns without a label keep their names.

    Raises:
        UsageError: The text is empty, or its list cannot be read.
    """
    if not text.strip():
        raise UsageError("private data: give a folder, or digits, or digits:3,5,8")
    kind, colon, choice = text.partition(":")
    if kind in BUNDLED and not colon and Path(kind).exists():
        raise UsageError(
            f"private data: {kind} come with the client, and there is a {kind} here too: write ./{kind} for your own, "
            f"or {kind}:NAME,NAME for some of the client's"
        )
    if kind == "digits":
        items = choice.split(",") if colon else [str(digit) for digit in range(10)]
        found = _split_names(text, items, _DIGIT, "digits:3,5,8 or digits:3=type A,5=type B")
        return DigitsSource({int(digit): label or f"digit {digit}" for digit, label in found.items()})
    if kind in ("cells", "terms"):
        known = CELLS if kind == "cells" else TERMS
        items = choice.split(",") if colon else list(known)
        first, second = known[:2]
        found = _split_names(
            text, items, _TERM, f"{kind}:{first},{second} or {kind}:{first}=type A,{second}=type B"
        )
        if unknown := [each for each in found if each not in known]:
            raise UsageError(f"{text!r}: no {kind} of kind {unknown[0]!r}: choose among {', '.join(known)}")
        names = {each: label or each for each, label in found.items()}
        return CellsSource(names) if kind == "cells" else TermsSource(names)
    return FolderSource(Path(text))


def _split_names(text: str, items: Sequence[str], spelled: re.Pattern[str], example: str) -> dict[str, str]:
    """Return each item's name and its label, which is empty if not given (``UsageError`` for an unreadable item)."""
    names: dict[str, str] = {}
    for item in items:
        match = spelled.fullmatch(item)
        if match is None or match[2] == "" or match[1] in names:
            raise UsageError(f"{text!r}: write {text.partition(':')[0]} like {example}")
        names[match[1]] = match[2] or ""
    labels = [label or name for name, label in names.items()]
    if len(names) < 2 or len(set(labels)) < len(names):
        raise UsageError(f"{text!r}: choose two or more, each under its own label")
    if faults := find_label_faults(labels):
        raise UsageError(f"{text!r}: a label must be visible text that can name a folder: {faults[0]}")
    return names


def require_folder(path: Path, wanted: str, option: str = "") -> None:
    """Refuse a path that is not a folder, before any of its content is read (``DataError``)."""
    if not path.is_dir():
        there = "is a file" if path.exists() else "no such folder"
        if path.is_file() and path.suffix.lower() in TABLES:
            raise DataError(
                f"{option}{path}: is a table of texts: give {advise('dialect', 'chat')}, for an API that writes texts"
            )
        raise DataError(f"{option}{path}: {there}; give a folder {wanted}")
