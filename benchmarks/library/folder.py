"""The public collection that is served: what may be trained on, without the images that are somebody's private ones."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from benchmarks.private_sets import RESERVED_EVERY

NAME = "public_images"
RESERVED = ("chest x-ray", "blood smear")
"""Domains of which files with a number that ``RESERVED_EVERY`` divides are private."""
WITHHELD = ("household waste", "sa")
"""Domains that the library does not hold at all."""


def is_served(path: str) -> bool:
    """True if a file of the collection is in the library, by its path ``domain/label/number.jpg``."""
    domain = path.split("/", 1)[0]
    private = domain in RESERVED and int(Path(path).stem) % RESERVED_EVERY == 0
    return domain not in WITHHELD and not private


def gather(data: Path, work: Path) -> Path:
    """Copy the library's images, their table and their sources into a folder, once.

    Args:
        data: Folder that holds ``public_images``.
        work: Where the library is put.
    """
    source, library = data / NAME, work / NAME
    if library.exists():
        return library
    partial = work / f"{NAME}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with (source / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_served(row["file"])]
    for row in rows:
        (partial / row["file"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / row["file"], partial / row["file"])
    for name in ("manifest.csv", "SOURCES.md"):
        shutil.copy(source / name, partial)
    partial.rename(library)
    return library
