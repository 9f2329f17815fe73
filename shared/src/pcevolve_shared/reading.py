"""Read files and JSON from untrusted sources within bounds. Pipes do not block, and size and nesting are limited.

Errors of files are ``OSError``, whose ``strerror`` reads well after the file's name. Errors of JSON are
``ValueError``. Callers that read files already handle both.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""Beginning of a pointer file that Git LFS left in place of a large file."""
FETCH_LFS: Final = "is a pointer of Git LFS and not the file itself: fetch it with git lfs pull"
"""Error text that follows the file's name."""


def open_file(path: Path, most: int) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: The file. A link is followed.
        most: Largest size of the file when it is opened, in bytes. The caller bounds its reads, as the file may grow.

    Raises:
        OSError: The path is a pipe, a device or a folder, or the file is larger or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would block
    status = os.fstat(descriptor)
    regular = stat.S_ISREG(status.st_mode)
    if not regular or status.st_size > most:
        os.close(descriptor)
        if regular:
            raise _too_large(path, most)
        kind = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(kind, "it is not a regular file", str(path))  # of a folder an IsADirectoryError
    return os.fdopen(descriptor, "rb")


def read_file(path: Path, most: int) -> bytes:
    """Return a regular file's bytes.

    Args:
        path: The file. A link is followed.
        most: Largest number of bytes, also of a file that grows while it is read.

    Raises:
        OSError: The path is a pipe, a device or a folder, or the file is larger or cannot be read.
    """
    data = b""
    with open_file(path, most) as file:
        # Python allocates as many bytes as a read requests. Request the file's size and one byte more, which shows
        # whether the file grew.
        while part := file.read(max(min(most, os.fstat(file.fileno()).st_size) - len(data), 0) + 1):
            data = data + part if data else part
            if len(data) > most:
                raise _too_large(path, most)
    return data


class BoundedLines:
    """The lines of a text file. The number of characters of a record, which may have many lines, is limited.

    Attributes:
        left: Characters that the record may still have. The caller resets it before each record.
    """

    def __init__(self, file: TextIO, most: int) -> None:
        self._file, self.left = file, most

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next line.

        Raises:
            ValueError: The record is too long.
        """
        line = self._file.readline(self.left + 1)
        self.left -= len(line)
        if self.left < 0:
            raise ValueError("a record is too long")
        if not line:
            raise StopIteration
        return line


def parse_json(text: str | bytes, **hooks: Any) -> Any:  # noqa: ANN401 - any JSON, and the hooks of ``json.loads``
    """Return the value of a JSON text. Raise only ``ValueError``.

    Args:
        text: The text. The caller bounds its length, because a value may take thirty times the memory of its text.
        hooks: See ``json.loads``.

    Raises:
        ValueError: The text is not JSON, or is nested deeper than Python's stack allows.
    """
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
