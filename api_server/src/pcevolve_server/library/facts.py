"""Facts of each image in an SQLite database, so that an interrupted start can continue."""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.embedding import Codes
from pcevolve_server.library.folder import ImageFile

DIGEST_BYTES: Final = 16
_COLUMNS: Final = "path BLOB PRIMARY KEY, bytes, changed, width, height, digest BLOB, code BLOB"
_BUSY_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Facts:
    """Sizes, digests and codes of some images.

    Attributes:
        sizes: int32 ``(images, 2)``, width and height in pixels. 0 marks a file that cannot be used.
        digests: uint8 ``(images, 16)``, BLAKE2b of the file.
        codes: uint8 ``(images, size)``, the embeddings.
    """

    sizes: NDArray[np.int32]
    digests: NDArray[np.uint8]
    codes: Codes

    @classmethod
    def empty(cls, images: int, size: int) -> "Facts":
        """Return facts that mark ``images`` files as unusable."""
        return cls(
            np.zeros((images, 2), np.int32),
            np.zeros((images, DIGEST_BYTES), np.uint8),
            np.zeros((images, size), np.uint8),
        )

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Return which of the files are usable images."""
        return self.sizes[:, 0] > 0


def file_digest(data: bytes) -> bytes:
    """Return the digest that identifies a file's bytes."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


class FactStore:
    """The facts of one library's images, with the codes of one embedder. A damaged database is replaced."""

    def __init__(self, folder: Path, size: int) -> None:
        """Create the database if it does not exist.

        Args:
            folder: A folder for this library and this embedder alone.
            size: Length of a code.

        Raises:
            ModelLoadError: The database cannot be written.
        """
        self._folder, self._size, self._file = folder, size, folder / "facts-1.sqlite"
        with self._explain_errors():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._begin()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                self._file.unlink()
                self._begin()

    @contextmanager
    def alone(self, wait: Callable[[], object]) -> Iterator[None]:
        """Hold the lock while missing facts are found and computed. The lock of a dead process is released.

        Args:
            wait: Called repeatedly while another process has the lock. It may raise to give up.
        """
        with (self._folder / "lock").open("wb") as file:
            while not _lock(file):
                wait()
            yield

    def load(self, images: Sequence[ImageFile]) -> tuple[Facts, NDArray[np.bool_]]:
        """Return the stored facts of images, and which images have facts. Changed files have none."""
        facts, known = Facts.empty(len(images), self._size), np.zeros(len(images), np.bool_)
        places = {(os.fsencode(each.path), each.size, each.changed): k for k, each in enumerate(images)}
        with self._explain_errors(), closing(self._connect()) as database:
            for path, size, changed, width, height, digest, code in database.execute("SELECT * FROM facts"):
                place = places.get((path, size, changed))
                if place is not None and len(code) == self._size:
                    known[place] = True
                    facts.sizes[place] = width, height
                    facts.digests[place] = np.frombuffer(digest, np.uint8)
                    facts.codes[place] = np.frombuffer(code, np.uint8)
        return facts, known

    def keep(self, images: Sequence[ImageFile], facts: Facts) -> None:
        """Store the facts of images in one transaction.

        Raises:
            ModelLoadError: The database cannot be written, or its disk is full.
        """
        rows = (
            (
                os.fsencode(each.path),
                each.size,
                each.changed,
                *map(int, size),
                digest.tobytes(),
                code.tobytes(),
            )
            for each, size, digest, code in zip(images, facts.sizes, facts.digests, facts.codes, strict=True)
        )
        with self._explain_errors(), closing(self._connect()) as database, database:
            database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget_others(self, images: Sequence[ImageFile]) -> None:
        """Remove the facts of images that no longer exist."""
        there = {os.fsencode(each.path) for each in images}
        with self._explain_errors(), closing(self._connect()) as database, database:
            gone = [row for row in database.execute("SELECT path FROM facts") if row[0] not in there]
            database.executemany("DELETE FROM facts WHERE path = ?", gone)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=_BUSY_SECONDS)

    def _begin(self) -> None:
        with closing(self._connect()) as database, database:
            database.execute(f"CREATE TABLE IF NOT EXISTS facts ({_COLUMNS}) WITHOUT ROWID")
            if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("damaged")

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.OperationalError) as error:
            raise ModelLoadError(
                f"cannot keep the library's index in {self._folder}: {error}: choose another folder with"
                " --library-cache"
            ) from error


def _lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
