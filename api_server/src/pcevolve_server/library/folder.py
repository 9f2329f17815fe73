"""Lists the images of a folder; opens none of them, and follows no link."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pcevolve_server.errors import ModelLoadError

READ = frozenset({".png", ".jpg", ".jpeg", ".webp"})
"""Suffixes, in lower case, of what the wire's codec decodes."""
NOT_READ = frozenset({".bmp", ".dcm", ".gif", ".heic", ".jp2", ".svg", ".tif", ".tiff"})
"""Suffixes of images that it does not; they are named, so that nobody wonders where they are."""
TABLES = frozenset({"manifest.csv", "metadata.csv", "metadata.jsonl"})
"""Names of tables that describe images."""


@dataclass(frozen=True)
class ImageFile:
    """A file that should be an image.

    Attributes:
        path: In the library's folder, with ``/``.
        size: Bytes.
        changed: Time of the last change, in nanoseconds.
    """

    path: str
    size: int
    changed: int


@dataclass(frozen=True)
class Listing:
    """The contents of a library's folder.

    Attributes:
        root: The folder.
        images: By path.
        tables: Paths of the files that may hold captions of many images.
        texts: Paths of text files.
        left_out: Paths of links, which were not followed, and of images of a kind that is not read.
    """

    root: Path
    images: tuple[ImageFile, ...]
    tables: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()


@dataclass
class _Walk:
    root: Path
    tables: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)

    def images(self, folder: str = "") -> Iterator[ImageFile]:
        with os.scandir(self.root / folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                self.left_out.append(path)
            elif entry.is_dir():
                yield from self.images(path)
            elif entry.is_file():
                yield from self._file(path, entry)

    def _file(self, path: str, entry: os.DirEntry[str]) -> Iterator[ImageFile]:
        suffix = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 - a million times
        if suffix in NOT_READ:
            self.left_out.append(path)
        if entry.name in TABLES:
            self.tables.append(path)
        if suffix == ".txt":
            self.texts.add(path)
        if suffix in READ:
            status = entry.stat()
            yield ImageFile(path, status.st_size, status.st_mtime_ns)


def list_images(root: Path) -> Listing:
    """List a library's images in an order that depends on their paths alone.

    Hidden files and folders are left out. Links are not followed: what lies outside of the folder was not offered
    to anybody.

    Raises:
        ModelLoadError: The folder cannot be read.
    """
    walk = _Walk(root)
    try:
        images = tuple(sorted(walk.images(), key=lambda image: os.fsencode(image.path)))
    except OSError as error:
        raise ModelLoadError(f"cannot read the library {root}: {error.strerror}: {error.filename}") from error
    return Listing(root, images, tuple(sorted(walk.tables)), frozenset(walk.texts), tuple(walk.left_out))


def spell_path(path: str) -> str:
    """A path as one line of ASCII: file names are anybody's text, and need not be text at all."""
    return ascii(path)[1:-1]
