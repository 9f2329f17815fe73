"""Durable writes: after a power cut, a file is either complete and on disk under its name, or absent.

Files with private results are readable by their owner alone.
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
"""Fixed time for files whose real time would reveal something: 1980-01-01, which every archive format can store."""


def write_durably(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file durably, replacing an existing file atomically. After a crash the file is complete or absent."""
    write_files_durably({path: data}, mode)


def write_files_durably(files: Mapping[Path, bytes], mode: int = 0o644, *, timeless: bool = False) -> None:
    """Write several files durably. A failure leaves no temporary file behind.

    With ``timeless``, each file's modification time is set to ``NO_TIME`` before the file gets its name.
    """
    try:
        _write_partials(files, mode, timeless)
        # Rename only when every byte is on disk. Otherwise a power cut could leave an empty file under the final
        # name.
        for path in files:
            _partial(path).replace(path)
    except BaseException:  # including Ctrl-C: an audit would report the temporary file as a fault
        for path in files:
            with suppress(OSError):
                _partial(path).unlink()
        raise
    # A rename changes the folder's entry, which is on disk only after the folder is synced.
    for folder in {path.parent for path in files}:
        sync_folder(folder)


def _write_partials(files: Mapping[Path, bytes], mode: int, timeless: bool) -> None:
    """Write several files under temporary names, and return when all are complete and on disk."""
    with ExitStack() as opened:
        descriptors = []
        # Start all writes before waiting for the first; this takes a third of the time that one write after another
        # would take.
        for path, data in files.items():
            partial = _partial(path)
            # Remove a link or pipe that another process put here; do not write through it.
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            # O_EXCL: the call fails if another process has recreated the name in the meantime.
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
    """Provide an empty folder to fill, and rename it when its content is on disk. A failure leaves no folder."""
    partial = _partial(path)
    _remove(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
        _sync_tree(partial)
        partial.replace(path)
    except BaseException:  # including Ctrl-C: an audit would report the temporary folder as a fault
        _remove(partial)
        raise
    sync_folder(path.parent)


@contextmanager
def replace_folder_durably(path: Path) -> Iterator[Path]:
    """Provide an empty folder to fill, and replace an existing folder when the new content is on disk.

    If the process is killed during the replacement, ``settle`` finds the complete new folder under its temporary
    name.
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
    """Finish or remove an interrupted write of a file or folder (``OSError`` if that fails)."""
    fresh = _fresh(path)
    if fresh.is_dir() and not fresh.is_symlink():  # complete: an incomplete folder has another name
        _take_place(path)
    for left in (_partial(path), fresh, _partial(fresh)):
        _remove(left)


def _take_place(path: Path) -> None:
    # rename(2) cannot replace a folder that is not empty.
    _remove(path)
    _fresh(path).replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    _sync(folder, os.fsync)


def _remove(path: Path) -> None:
    """Remove a file, a folder with its content, or a link or pipe without its target."""
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
    """Sync a folder and all its content to disk."""
    written = [(Path(folder), names) for folder, _, names in os.walk(root)]
    # The first pass starts all writes, so that the disk works on them together. The second pass waits for them.
    for work in (_send_to_disk, os.fsync):
        for folder, names in written:
            for name in names:
                _sync(folder / name, work)
    for folder, _ in written:
        sync_folder(folder)


def _send_to_disk(descriptor: int) -> None:
    """Start writing a file's content to disk without waiting. On macOS, which lacks the call, do nothing."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _partial(path: Path) -> Path:
    """Return the temporary path of a file or folder that is still being written."""
    return path.with_name(f".{path.name}.partial")


def _fresh(path: Path) -> Path:
    """Return the temporary path of a complete folder that has not yet replaced an older one."""
    return path.with_name(f".{path.name}.fresh")


def write_private(path: Path, result: Mapping[str, object]) -> None:
    """Write JSON with mode 0600, replacing an older file atomically; a new folder gets mode 0700.

    Raises:
        DataError: The file cannot be written; an older file is unchanged.
    """
    text = json.dumps(result, indent=2, sort_keys=True, allow_nan=False) + "\n"
    write_private_bytes(path, text.encode())


def set_owners_mode(folder: Path) -> None:
    """Make a folder accessible to its owner alone.

    The mode is set only if it differs, because not every process is allowed to set it.
    """
    # mkdir applies its mode only to folders that it creates, and only as far as the umask allows.
    if folder.stat().st_mode & 0o777 != 0o700:
        folder.chmod(0o700)


def write_private_bytes(path: Path, data: bytes) -> None:
    """Write bytes with the same modes and errors as ``write_private``."""
    try:
        if not path.parent.is_dir():  # an existing folder may be shared, such as /tmp
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            set_owners_mode(path.parent)
        write_durably(path, data, 0o600)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
