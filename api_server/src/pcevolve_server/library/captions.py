"""The words and licences of each image, from its folders, its name, and captions beside it.

Captions come from ``manifest.csv``, ``metadata.csv`` and ``metadata.jsonl`` in any folder of the library. Their
column ``file``, ``file_name``, ``filename`` or ``path``, in upper or lower case, is relative to that folder. A
text file with an image's name also contains the image's caption (``cat.jpg``, ``cat.txt``).
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from pcevolve_server.library.folder import LibraryListing, spell_path
from pcevolve_shared import limits
from pcevolve_shared.reading import BoundedLines, open_file, parse_json
from pcevolve_shared.wire import LibraryInfo, LicenceCount, LicenceFile

logger = logging.getLogger(__name__)

_NAMES: Final = ("file", "file_name", "filename", "path")
_EXPECTED: Final = (
    "it needs a column of paths relative to its folder, and a CSV file needs commas;"
    f" names of the column: {', '.join(_NAMES)}"
)
_WORDED: Final = (
    "caption", "category", "class", "description", "domain", "keywords", "label", "labels", "prompt", "tags", "text",
    "title",
)  # fmt: skip
_LICENCES: Final = ("licence", "license")
_LARGEST_TABLE: Final = 2**32  # bytes
_LONGEST_ROW: Final = 2**20  # characters
_LONGEST_CAPTION: Final = 4096  # characters, or bytes of a text file
_LONGEST_LICENCE: Final = 200  # characters
_STOP: Final = frozenset({
    "a", "an", "and", "are", "at", "by", "for", "from", "image", "images", "in", "is", "it", "its", "of", "on", "or",
    "photo", "photograph", "picture", "that", "the", "this", "to", "with",
})  # fmt: skip
_LONGER_THAN_GAS: Final = 3  # letters; "gas" and "bus" are no plurals
_WORD: Final = re.compile(r"[^\W_]+")
_NAME_WORD: Final = re.compile(r"[^\W\d_]{3,}")


def words(text: str) -> frozenset[str]:
    """Return the words of a prompt, a caption or a folder's name.

    Case, the encoding of accents, and a plural's ``s`` make no difference. Words without meaning are left out.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(
        word[:-1] if len(word) > _LONGER_THAN_GAS and word.endswith("s") else word
        for word in _WORD.findall(folded)
        if word not in _STOP
    )


@lru_cache(maxsize=2**14)
def _words_of_folder(name: str) -> frozenset[str]:
    """Return the words of a folder's name, cached. Prompts are not cached, because callers choose them."""
    return words(name)


def _words_of_path(path: str) -> frozenset[str]:
    """Return the words of the folders and of the file's name without numbers. ``cat.0012.jpg`` gives ``cat``."""
    place = PurePosixPath(path)
    named = " ".join(_NAME_WORD.findall(place.stem))
    return words(named).union(*map(_words_of_folder, place.parts[:-1]))


class Captions:
    """The captions in the tables and text files of a library.

    Attributes:
        licences: Number of images of each licence, the most frequent licence first. Empty if no table names a licence.
    """

    def __init__(self, listing: LibraryListing) -> None:
        """Read all tables. Damaged parts are logged and left out."""
        self._root, self._text_files = listing.root, listing.texts
        self._said: dict[str, list[str]] = defaultdict(list)
        counts: dict[str, int] = defaultdict(int)
        known = {image.path for image in listing.images}
        for table in listing.tables:
            described = False
            for path, row in _rows(listing.root, table):
                if path in known:
                    described = True
                    self._said[path].extend(text[:_LONGEST_CAPTION] for text in _values(row, _WORDED))
                    for licence in _values(row, _LICENCES):
                        counts[licence[:_LONGEST_LICENCE]] += 1
            if not described:
                logger.warning(
                    "a table describes no image of this library: %s: %s", spell_path(table), _EXPECTED
                )
        self.licences = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def words(self, path: str) -> frozenset[str]:
        """Return every word of an image."""
        said = [*self._said.get(path, ()), *self._beside(path)]
        return _words_of_path(path).union(*(words(text) for text in said))

    def _beside(self, path: str) -> Iterator[str]:
        for ending in (".txt", ".TXT"):
            text_file = str(PurePosixPath(path).with_suffix(ending))
            if text_file in self._text_files:
                with (self._root / text_file).open("rb") as file:
                    yield file.read(_LONGEST_CAPTION).decode(errors="replace")


def _rows(root: Path, table: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    try:
        yield from _of_table(root / table, str(PurePosixPath(table).parent))
    except (OSError, ValueError, TypeError, csv.Error) as error:
        kind = type(error).__name__
        logger.warning("the rest of a table of captions was not read: %s: %s", spell_path(table), kind)


def _of_table(path: Path, folder: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    with open_file(path, _LARGEST_TABLE) as file:
        lines = BoundedLines(io.TextIOWrapper(file, "utf-8-sig", newline=""), _LONGEST_ROW)
        rows = csv.DictReader(lines) if path.suffix == ".csv" else map(parse_json, filter(str.strip, lines))
        for row in rows:
            lines.left = _LONGEST_ROW
            if not isinstance(row, dict):
                raise TypeError("a line that is not a JSON object")
            texts = {str(name).strip().lower(): _text(value) for name, value in row.items()}
            for name in itertools.islice(_values(texts, _NAMES), 1):
                yield str(PurePosixPath(folder) / name), texts


def _text(value: object) -> str:
    """Return a cell's text, or the joined texts of a list. Anything else gives an empty text."""
    parts = value if isinstance(value, list) else [value]
    return ", ".join(part for part in parts if isinstance(part, str))


def _values(row: Mapping[str, str], columns: tuple[str, ...]) -> Iterator[str]:
    return (row[column] for column in columns if row.get(column))


_LICENCE_NAMES: Final = ("licence", "license", "notice", "sources", "copying", "copyright")
_LONGEST_FILE: Final = 2**20  # bytes; what is longer is no licence


def describe(root: Path, captions: Captions, images: int) -> LibraryInfo:
    """Return the library's description for callers.

    Args:
        root: The folder. The beginnings of its files LICENSE, NOTICE, SOURCES and so on are included.
    """
    counts = [
        LicenceCount(name=_line(name), images=count) for name, count in captions.licences if _line(name)
    ]
    found = [path for path in sorted(root.iterdir()) if path.stem.lower() in _LICENCE_NAMES]
    files = [_file(path) for path in found if path.is_file() and not path.is_symlink()]
    known = tuple(file for file in files if file is not None)
    return LibraryInfo(
        images=images,
        licences=tuple(counts[: limits.MAX_LICENCES]),
        licence_files=known[: limits.MAX_LICENCE_FILES],
    )


def _file(path: Path) -> LicenceFile | None:
    with path.open("rb") as file:
        data = file.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        return None
    text = "".join(each for each in data.decode(errors="replace") if each.isprintable() or each == "\n")
    return LicenceFile(
        name=_line(path.name), sha256=hashlib.sha256(data).hexdigest(), text=text[: limits.MAX_LICENCE_CHARS]
    )


def _line(text: str) -> str:
    """Return a text from a file, or a file's name, as a short printable line."""
    return "".join(each if each.isprintable() else " " for each in text)[: limits.MAX_NAME_CHARS]
