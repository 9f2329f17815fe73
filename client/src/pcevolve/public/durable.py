"""Writes that survive a power cut: a file and its name are whole and on disk, or not there at all.

Private results are written so that only their owner can read them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from pcevolve.errors import DataError

NO_TIME: Final = 315_532_800
"""The time that files bear whose own would tell something: 1980-01-01, the first that every archive can hold."""


def write_durably(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file durably: it is whole and on disk, or not there at all, and one that is there is replaced at once."""
    write_files_durably({path: data}, mode)


def write_files_durably(files: Mapping[Path, bytes], mode: int = 0o644, *, timeless: bool = False) -> None:
    """Write several files, each of which is either whole and on disk, or not there at all; nothing else is left.

    ``timeless`` files do not tell when they were written, from the moment when they have their names.
    """
    try:
        _write_partials(files, mode, timeless)
        # Only now, when every byte is on disk: a name that points to a file
        # still in the cache would survive a power cut empty.
        for path in files:
            _partial(path).replace(path)
    except BaseException:  # Ctrl-C too: an audit would find a file that belongs to no run
        for path in files:
            with suppress(OSError):
                _partial(path).unlink()
        raise
    # A rename is an entry of the folder, and on disk only when the folder is.
    for folder in {path.parent for path in files}:
        sync_folder(folder)


def _write_partials(files: Mapping[Path, bytes], mode: int, timeless: bool) -> None:
    """Write several files under the names that stand for them until all are whole and on disk."""
    with ExitStack() as opened:
        descriptors = []
        # All are on their way to the disk before the first is waited for: a third of the time of one after the other.
        for path, data in files.items():
            partial = _partial(path)
            # A link or pipe that somebody else's run may hold there is removed, not followed.
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            # O_EXCL: should somebody make the name again in between, this fails instead of writing through it.
            file = opened.enter_context(os.fdopen(descriptor, "wb"))
            file.write(data)
            file.flush()
            if timeless:
                os.utime(descriptor, (NO_TIME, NO_TIME))
            _send_to_disk(descriptor)
            descriptors.append(descriptor)
        for descriptor in descriptors:
            os.fsync(descriptor)


@contextmanager
def write_folder_durably(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill, and let it take its name when all of it is on disk; a failure leaves nothing."""
    partial = _partial(path)
    _remove(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
        _sync_tree(partial)
        partial.replace(path)
    except BaseException:  # Ctrl-C too: an audit would find a folder that belongs to no run
        _remove(partial)
        raise
    sync_folder(path.parent)


@contextmanager
def replace_folder_durably(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill, and put it in the place of one that is there when all of it is on disk.

    A process that is killed between the two leaves neither, and the new one under the name that ``settle`` knows.
    """
    settle(path)
    with write_folder_durably(_fresh(path)) as partial:
        yield partial
    try:
        _take_place(path)
    except BaseException:
        settle(path)
        raise


def settle(path: Path) -> None:
    """Finish or clear away what a killed process left of a file or folder here; ``OSError`` where it cannot."""
    fresh = _fresh(path)
    if fresh.is_dir() and not fresh.is_symlink():  # whole, or it had another name
        _take_place(path)
    for left in (_partial(path), fresh, _partial(fresh)):
        _remove(left)


def _take_place(path: Path) -> None:
    # rename(2) does not replace a folder that holds something.
    _remove(path)
    _fresh(path).replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    _sync(folder, os.fsync)


def _remove(path: Path) -> None:
    """Make room: a folder goes with what is in it, and of a link or pipe that somebody put there its name alone."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path, work: Callable[[int], None]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        work(descriptor)
    finally:
        os.close(descriptor)


def _sync_tree(root: Path) -> None:
    """Make all that a folder holds durable."""
    written = [(Path(folder), names) for folder, _, names in os.walk(root)]
    # Two passes for the same reason: the second finds most of it written.
    for work in (_send_to_disk, os.fsync):
        for folder, names in written:
            for name in names:
                _sync(folder / name, work)
    for folder, _ in written:
        sync_folder(folder)


def _send_to_disk(descriptor: int) -> None:
    """Let the system begin to write what a file holds, and wait for nothing; macOS cannot be told."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _partial(path: Path) -> Path:
    """Return the path that stands for a file or folder until it is whole."""
    return path.with_name(f".{path.name}.partial")


def _fresh(path: Path) -> Path:
    """Return the path of a whole folder until it takes the place of an older one."""
    return path.with_name(f".{path.name}.fresh")


def write_private(path: Path, result: Mapping[str, object]) -> None:
    """Write JSON with mode 0600, replacing an older file at once; a folder that is made for it has mode 0700.

    Raises:
        DataError: The file cannot be written; an older one is still whole.
    """
    text = json.dumps(result, indent=2, sort_keys=True, allow_nan=False) + "\n"
    write_private_bytes(path, text.encode())


def set_owners_mode(folder: Path) -> None:
    """Leave a folder to its owner alone; one that is so already is not touched, which not every process may."""
    # mkdir's mode counts for a folder that it makes, and only as far as the umask leaves it.
    if folder.stat().st_mode & 0o777 != 0o700:
        folder.chmod(0o700)


def write_private_bytes(path: Path, data: bytes) -> None:
    """Write a file as ``write_private`` does, and raise as it does."""
    try:
        if not path.parent.is_dir():  # one that is there is somebody's, such as /tmp
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            set_owners_mode(path.parent)
        write_durably(path, data, 0o600)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
