"""Allow in a folder that may be shared plain files that are listed, in folders that hold one, and nothing else.

Nothing is followed: a link is a fault, wherever it leads.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

KIND_NAMES = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def irregular_files(root: Path, name: str) -> Iterator[str]:
    """Yield everything that is neither a file nor a folder; to be asked before reading, for a pipe would block."""
    for path, kind in _entries_below(root / name):
        if kind not in (stat.S_IFDIR, stat.S_IFREG):
            yield f"{_spell_out(name, path)} is {KIND_NAMES.get(kind, 'no plain file')}"


def file_faults(
    root: Path, name: str, listed: Collection[str], why: str, empty: Collection[str] = ()
) -> Iterator[str]:
    """Every file in a folder that is not listed, every listed one that is not there, and folders without one.

    Args:
        root: The run's folder.
        name: The folder in it.
        listed: Paths in that folder, with ``/``.
        why: What is wrong with a file that is not listed.
        empty: Folders in it that may hold no listed file.
    """
    folders = {str(parent) for each in listed for parent in PurePosixPath(each).parents} | {".", *empty}
    found: set[str] = set()
    for path, kind in _entries_below(root / name):
        if kind == stat.S_IFDIR and path not in folders:
            yield f"{_spell_out(name, path)} is a folder that {why}"
        elif kind == stat.S_IFREG and path not in listed:
            yield f"{_spell_out(name, path)} {why}"
        found.add(path)
    for missing in sorted(set(listed) - found):
        yield f"{name}/{missing} is missing"


def kind_of(path: Path) -> int | None:
    """The kind of what lies at a path, links not followed; None if nothing does."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return None


def _spell_out(name: str, path: str) -> str:
    """A path for a message, with nothing in it that a terminal would obey."""
    return ascii(name if path == "." else f"{name}/{path}")[1:-1]


def _entries_below(root: Path) -> Iterator[tuple[str, int]]:
    """Path below ``root`` and kind of everything, folders before what they hold, each in order of names."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        kind = kind_of(path)
        if kind is None:
            continue
        yield path.relative_to(root).as_posix(), kind
        if kind == stat.S_IFDIR:
            waiting.extend(sorted(path.iterdir(), reverse=True))
