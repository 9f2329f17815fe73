"""List the images of a folder. No image is opened, and no link is followed."""

import os
from dataclasses import dataclass
from pathlib import Path

from pcevolve_server.errors import ModelLoadError

READ = frozenset({".png", ".jpg", ".jpeg", ".webp"})
"""Suffixes, in lower case, of formats that the wire's codec decodes."""
NOT_READ = frozenset({".bmp", ".dcm", ".gif", ".heic", ".jp2", ".svg", ".tif", ".tiff"})
"""Suffixes of other image formats. The log names such files, so that their absence is explained."""
TABLES = frozenset({"manifest.csv", "metadata.csv", "metadata.jsonl"})
"""Names of tables that describe images."""


@dataclass(frozen=True)
class ImageFile:
    """A file that should be an image.

    Attributes:
        path: Path within the library's folder, with ``/``.
        size: Bytes.
        changed: Time of the last change, in nanoseconds.
    """

    path: str
    size: int
    changed: int


@dataclass(frozen=True)
class LibraryListing:
    """The contents of a library's folder.

    Attributes:
        root: The folder.
        images: The images, sorted by path.
        tables: Paths of tables with captions.
        texts: Paths of text files.
        left_out: Paths of links, which were not followed, and of images in formats that are not read.
    """

    root: Path
    images: tuple[ImageFile, ...]
    tables: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()


def list_images(root: Path) -> LibraryListing:
    """List a library's images in an order that depends on their paths alone.

    Hidden files and folders are left out. Links are not followed, because files outside the folder were not offered.

    Raises:
        ModelLoadError: The folder cannot be read.
    """
    images, tables, texts, left_out = list[ImageFile](), list[str](), set[str](), list[str]()
    folders = [""]
    try:
        while folders:
            folder = folders.pop()
            for entry in sorted(os.scandir(root / folder), key=lambda each: each.name):
                path = f"{folder}/{entry.name}" if folder else entry.name
                suffix = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 - a million times
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    left_out.append(path)
                elif entry.is_dir():
                    folders.append(path)
                elif not entry.is_file():  # a pipe, say, of which reading would not end
                    continue
                elif suffix in NOT_READ:
                    left_out.append(path)
                elif entry.name in TABLES:
                    tables.append(path)
                elif suffix == ".txt":
                    texts.add(path)
                elif suffix in READ:
                    status = entry.stat()
                    images.append(ImageFile(path, status.st_size, status.st_mtime_ns))
    except OSError as error:
        raise ModelLoadError(f"cannot read the library {root}: {error.strerror}: {error.filename}") from error
    images.sort(key=lambda image: os.fsencode(image.path))
    return LibraryListing(root, tuple(images), tuple(sorted(tables)), frozenset(texts), tuple(left_out))


def spell_path(path: str) -> str:
    """Return a path as one line of ASCII. File names may contain any bytes."""
    return ascii(path)[1:-1]
