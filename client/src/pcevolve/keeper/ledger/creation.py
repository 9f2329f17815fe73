"""Create a ledger and its key together, and open them.

Whatever the moment of a crash, the files that it leaves have one meaning:

| ledger | key | key being made | meaning |
|---|---|---|---|
| no | no | any | nothing was ever spent: both are made (again) |
| yes | no | yes | a crash between the two last steps: the new key is renamed, if it is this ledger's |
| yes | yes | – | the usual case |
| no | yes | – | the ledger was removed: refused |
| yes | no | no | the key was removed: refused |
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from glob import escape
from pathlib import Path

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.store import LedgerKey, Store
from pcevolve.public.durable import sync_folder

SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")  # suffixes of SQLite's own files beside a database


def open_store(path: Path, create: bool, waiting: Callable[[str], None]) -> Store:
    """Open a ledger's store; make ledger and key only if both are missing. ``waiting`` is as in ``Store``.

    Raises:
        LedgerError: Ledger or key is missing or damaged, or they do not belong together; nothing was
            changed.
    """
    key = locate_key(path)
    # A ledger is often a link to a mounted volume, and the volume may not be mounted now.
    for each in (path, key):
        # A new file in place of the dangling link would forget earlier spending.
        if each.is_symlink() and not each.exists():
            raise LedgerError(
                f"{each} is a link to {each.readlink()}, which does not exist: mount or restore that file"
            )
    try:
        # The key gets its name last, so its existence shows that the ledger is complete.
        if not key.exists():
            _complete(path, key, create)
        if not path.exists():
            raise LedgerError(_missing(path, key))
        return Store(path, LedgerKey.load(key), waiting)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"ledger {path}: {error}; nothing was released") from error


def _missing(path: Path, key: Path) -> str:
    """Word the refusal of a key without its ledger, or of a key that belongs to another ledger."""
    # The key's name is the ledger's name up to its last dot, so "scans.a" and "scans.b" would share one.
    others = {each.name for each in path.parent.glob(f"{escape(path.stem)}.*")} - {key.name}
    others = {each for each in others if not each.endswith(SQLITE_SUFFIXES)}
    if others:
        return (
            f"{path}: its key would be {key.name}, which is the key of {', '.join(sorted(others))}: "
            "choose a ledger name that differs before the last dot"
        )
    return f"{path} is missing, but its key exists: restore the ledger, or remove {key} if no run has spent anything"


def require_there(path: Path) -> None:
    """Refuse a missing ledger.

    If only the ledger's key is left, do nothing: opening the ledger reports what is missing.
    """
    if not is_there(path):
        raise LedgerError(describe_missing(path))


def is_there(path: Path) -> bool:
    """True if there is a ledger, or a key whose ledger is gone."""
    return path.exists() or locate_key(path).exists()


def describe_missing(path: Path) -> str:
    """State that no run has made a ledger yet."""
    return (
        f"there is no ledger yet at {path}, so no run has spent anything. pcevolve run creates the "
        "ledger. --ledger or PCEVOLVE_LEDGER selects a different one"
    )


def list_run_folders(path: Path) -> list[str]:
    """Return the folders in which a ledger's runs began; empty if the ledger cannot be read.

    The function needs the standard library only, so that a command can find the runs' folders before it
    gives up access to all other files.
    """
    try:
        # Read without the key, so unverified: the answer decides only which folders a command may open.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            found = [json.loads(content) for (content,) in file.execute("SELECT content FROM rows")]
        return [str(each["origin"]["folder"]) for each in found if "origin" in each]
    except (sqlite3.Error, ValueError, TypeError, KeyError):
        return []


def locate_key(path: Path) -> Path:
    """Return the path of a ledger's key (``LedgerError`` if no ledger can have this path); opens nothing."""
    if not path.name:
        raise LedgerError(f"'{path}' is a folder: give a file in it with privacy.ledger")
    key = path.with_suffix(".key")
    # A ledger that ended in .key would be its own key.
    if key == path:
        raise LedgerError(f"{path} is the name of a ledger's key: choose another file with privacy.ledger")
    return key


def require_volume(path: Path, volume: Path | None) -> None:
    """Refuse a ledger that would be lost with its container: later runs could then not count what earlier runs spent.

    Args:
        volume: Folder for ledgers in a container, which must be a mount point; None outside containers.

    Raises:
        LedgerError: The volume is not a mount point, or the ledger is not on it.
    """
    if volume is None:
        return
    # A container without the volume begins with an empty ledger, so limits would only apply within it.
    if not os.path.ismount(volume):
        raise LedgerError(
            f"{volume} is not a volume, so the ledger, which records what was spent, would be lost with "
            "this container: mount a named volume there, as docker compose does (docker run -v "
            f"pcevolve-ledger:{volume})"
        )
    if not path.resolve().is_relative_to(volume.resolve()):
        raise LedgerError(f"ledger {path} is not on the volume {volume} and may be lost with this container")


def _complete(path: Path, key: Path, create: bool) -> None:
    """Make the ledger and its key, or finish what a crash interrupted, under a lock."""
    if not create:
        require_there(path)
    if not path.parent.exists():
        # Closed to other users: the file shows which runs share units, and with the key anybody can test
        # whose they are.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_folder(path.parent.parent)
    with _alone(path.parent):
        if key.exists():  # another process was faster
            return
        making = key.with_name(key.name + ".new")
        if not path.exists():
            _make(path, making)
        # Opened once before the key gets its name, so that the name proves a readable ledger.
        Store(path, LedgerKey.load(making if making.exists() else key)).close()
        making.rename(key)
        sync_folder(path.parent)


def _make(path: Path, making: Path) -> None:
    # SQLite would apply a leftover journal to this new file, and so undo or add pages of another ledger.
    for orphan in (path.with_name(path.name + side) for side in SQLITE_SUFFIXES):
        if orphan.exists():
            raise LedgerError(
                f"{orphan} belongs to a ledger that is missing: restore ledger and key from a backup"
            )
    secret = LedgerKey.new()
    # The key first: a ledger without its key can never be opened again.
    secret.save(making)
    draft = path.with_name(path.name + ".new")
    for leftover in (draft, *(draft.with_name(draft.name + side) for side in SQLITE_SUFFIXES)):
        leftover.unlink(missing_ok=True)
    # The mode is set while the file is empty; SQLite keeps it for its own files.
    draft.touch(mode=0o600)
    Store.create(draft, secret)
    # The key must be on disk before the ledger gets its name, or a crash could leave a ledger without a key.
    sync_folder(path.parent)
    draft.rename(path)
    sync_folder(path.parent)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process makes a ledger in this folder; a killed process no longer counts."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # A kernel lock on the folder ends with the process; a lock file would outlive a kill.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
