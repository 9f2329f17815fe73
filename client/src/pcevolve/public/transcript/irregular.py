"""Find entries that do not belong in a run's folder: links, pipes, and unlisted files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from pcevolve.public.words import SYSTEM_FILES

KIND_NAMES = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def find_irregular_files(root: Path, name: str) -> Iterator[str]:
    """Yield every entry that is neither a file nor a folder. Call this first, because opening a pipe blocks."""
    for path, kind in _entries_below(root / name):
        if kind not in (stat.S_IFDIR, stat.S_IFREG):
            yield f"{_spell_out(name, path)} is {KIND_NAMES.get(kind, 'no plain file')}"


def find_file_faults(
    root: Path, name: str, listed: Collection[str], why: str, empty: Collection[str] = ()
) -> Iterator[str]:
    """Yield every unlisted file, every missing listed file, and every folder without a listed file.

    Args:
        why: Message for a file that is not listed.
        empty: Folders that need not contain a listed file.
    """
    folders = {str(parent) for each in listed for parent in PurePosixPath(each).parents} | {".", *empty}
    found: set[str] = set()
    for path, kind in _entries_below(root / name):
        if kind == stat.S_IFDIR and path not in folders:
            yield f"{_spell_out(name, path)} is a folder that {why}{advise_deletion(path)}"
        elif kind == stat.S_IFREG and path not in listed:
            yield f"{_spell_out(name, path)} {why}{advise_deletion(path)}"
        found.add(path)
    for missing in sorted(set(listed) - found):
        yield f"{name}/{missing} is missing"


def advise_deletion(path: str) -> str:
    """Advise deleting files that operating systems create unasked.

    Such files are still faults, because they could hide anything.
    """
    names = PurePosixPath(path.lower()).parts
    by_system = any(name in SYSTEM_FILES or name.startswith("._") for name in names)
    return " (systems make such unasked: delete it)" if by_system else ""


def kind_of(path: Path) -> int | None:
    """Return the file type at a path without following links; None if nothing exists there."""
    # lstat, because a link is a fault whatever its target, and must not be followed.
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return None


def _spell_out(name: str, path: str) -> str:
    """Return a path for a message, escaped so that it cannot control a terminal."""
    return ascii(name if path == "." else f"{name}/{path}")[1:-1]


def _entries_below(root: Path) -> Iterator[tuple[str, int]]:
    """Yield relative path and file type of every entry below ``root``, folders before their content, sorted by name."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        kind = kind_of(path)
        if kind is None:
            continue
        yield path.relative_to(root).as_posix(), kind
        if kind == stat.S_IFDIR:
            waiting.extend(sorted(path.iterdir(), reverse=True))
