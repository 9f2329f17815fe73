"""Facts of each image, kept on disk in pieces; a piece that is not whole is never used.

A piece covers consecutive files and is named by a digest of their paths, sizes and times of change, so a changed folder
gets other pieces, and only those that changed are made again. It is written beside its place, flushed to the disk and
renamed, and begins with a digest of its contents.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.embedding import Codes
from pcevolve_server.library.folder import ImageFile

DIGEST_BYTES: Final = 16
_FORMAT: Final = b"pcevolve-library/1"
_SUFFIX: Final = ".piece"
_USUAL, _MOST = 1024, 8192  # files in a piece


@dataclass(frozen=True)
class Facts:
    """Sizes, digests and codes of some images.

    Attributes:
        sizes: int32 ``(images, 2)``, width and height in pixels; 0 for a file that cannot be used.
        digests: uint8 ``(images, 16)``, BLAKE2b of the file.
        codes: uint8 ``(images, size)``, the embeddings.
    """

    sizes: NDArray[np.int32]
    digests: NDArray[np.uint8]
    codes: Codes

    @classmethod
    def empty(cls, images: int, size: int) -> "Facts":
        """Return what is known of files that cannot be used."""
        return cls(
            np.zeros((images, 2), np.int32),
            np.zeros((images, DIGEST_BYTES), np.uint8),
            np.zeros((images, size), np.uint8),
        )

    @classmethod
    def join(cls, parts: Sequence["Facts"]) -> "Facts":
        """Return what is known of the images of all parts, in their order."""
        return cls(
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.digests for part in parts]),
            np.concatenate([part.codes for part in parts]),
        )

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Return which of the files are images."""
        return self.sizes[:, 0] > 0


def file_digest(data: bytes) -> bytes:
    """Return what a file's bytes are recognised by."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def pieces(images: Sequence[ImageFile]) -> Iterator[Sequence[ImageFile]]:
    """Cut a listing where a path's digest says so: a file more or less changes one piece and moves no other."""
    start = 0
    for end, image in enumerate(images, start=1):
        digest = hashlib.blake2b(os.fsencode(image.path), digest_size=4).digest()
        if int.from_bytes(digest, "big") % _USUAL == 0 or end - start == _MOST or end == len(images):
            yield images[start:end]
            start = end


class FactStore:
    """The folder in which the pieces of one library are kept."""

    def __init__(self, folder: Path, embedder: str, size: int) -> None:
        """Make the folder if it is not there.

        Args:
            folder: Of this library alone.
            embedder: Name of what makes the codes.
            size: Numbers of one code.

        Raises:
            ModelLoadError: It cannot be written.
        """
        self._folder, self._embedder, self._size = folder, embedder, size
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from error

    @contextmanager
    def alone(self, wait: Callable[[], object]) -> Iterator[None]:
        """Hold the lock for looking for what is missing and making it; a process that dies lets go.

        Args:
            wait: Called again and again while another process is there; may raise to give up.

        Raises:
            ModelLoadError: The folder cannot be written.
        """
        try:
            file = (self._folder / "lock").open("wb")
        except OSError as error:
            raise _unwritable(self._folder, error) from error
        with file:
            while not _lock(file):
                wait()
            yield

    def load(self, piece: Sequence[ImageFile]) -> Facts | None:
        """Return what is kept of a piece; None if it is not there or not whole."""
        name = self._name(piece)
        try:
            data = (self._folder / name).read_bytes()
        except OSError:
            return None
        check, payload = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
        count = len(piece)
        whole = len(payload) == count * (8 + DIGEST_BYTES + self._size)
        if not whole or check != file_digest(name.encode() + payload):
            return None
        ends = np.cumsum([8 * count, DIGEST_BYTES * count])
        sizes, digests, codes = payload[: ends[0]], payload[ends[0] : ends[1]], payload[ends[1] :]
        return Facts(
            np.frombuffer(sizes, "<i4").reshape(count, 2),
            np.frombuffer(digests, np.uint8).reshape(count, DIGEST_BYTES),
            np.frombuffer(codes, np.uint8).reshape(count, self._size),
        )

    def keep(self, piece: Sequence[ImageFile], facts: Facts) -> None:
        """Write a piece in one step.

        Raises:
            ModelLoadError: The folder cannot be written, or its disk is full.
        """
        name = self._name(piece)
        payload = facts.sizes.astype("<i4").tobytes() + facts.digests.tobytes() + facts.codes.tobytes()
        partial = self._folder / f"{name}.{os.getpid()}.partial"
        try:
            with partial.open("wb") as file:
                file.write(file_digest(name.encode() + payload) + payload)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._folder / name)
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def forget_others(self, kept: Iterable[Sequence[ImageFile]]) -> None:
        """Remove what is left of an earlier state of the folder, and of pieces that were never finished."""
        names = {self._name(piece) for piece in kept}
        for path in self._folder.iterdir():
            if path.name not in names and path.name.endswith((_SUFFIX, ".partial")):
                path.unlink(missing_ok=True)

    def _name(self, piece: Sequence[ImageFile]) -> str:
        digest = hashlib.blake2b(_FORMAT + self._embedder.encode(), digest_size=20)
        for image in piece:
            digest.update(b"%d %d " % (image.size, image.changed) + os.fsencode(image.path) + b"\0")
        return digest.hexdigest() + _SUFFIX


def _lock(file: BinaryIO) -> bool:
    """Return whether nobody else has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unwritable(folder: Path, error: OSError) -> ModelLoadError:
    return ModelLoadError(
        f"cannot keep the library's index in {folder}: {error.strerror}: choose another folder with --library-cache"
    )
