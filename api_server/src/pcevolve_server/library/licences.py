"""Under which licences a library's images are, as far as its own files say."""

import hashlib
from pathlib import Path
from typing import Final

from pcevolve_server.library.captions import Captions
from pcevolve_shared import limits
from pcevolve_shared.wire import LibraryInfo, LicenceCount, LicenceFile

_NAMES: Final = ("licence", "license", "notice", "sources", "copying", "copyright")
_LONGEST_FILE: Final = 2**20  # bytes; what is longer is no licence


def described(root: Path, captions: Captions, images: int) -> LibraryInfo:
    """Return what the library tells its callers about itself.

    Args:
        root: The folder; files in it called LICENSE, NOTICE, SOURCES and so on are passed on from their beginning.
        captions: Name the licences of single images.
        images: How many can be drawn.
    """
    counts = [
        LicenceCount(name=_line(name), images=count) for name, count in captions.licences if _line(name)
    ]
    found = [path for path in sorted(root.iterdir()) if path.stem.lower() in _NAMES]
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
    """Text from a file or a name of one as a short line that can be printed."""
    return "".join(each if each.isprintable() else " " for each in text)[: limits.MAX_NAME_CHARS]
