"""Files and JSON of anybody's, read within bounds: no pipe blocks, no file grows past its limit, no nesting crashes.

What goes wrong with a file is an ``OSError`` whose ``strerror`` can be read after the file's name, and what goes wrong
with JSON is a ``ValueError``: whoever reads files has handlers for both.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""How a file begins that Git left in another's place."""
FETCH_LFS: Final = "is a pointer of Git LFS and not the file itself: fetch it with git lfs pull"
"""What to say after such a file's name."""


def open_file(path: Path, most: int) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: The file; a link is followed.
        most: Bytes that it may have now; whoever reads on bounds what it may become.

    Raises:
        OSError: It is a pipe, a device or a folder, is larger, or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would block
    status = os.fstat(descriptor)
    regular = stat.S_ISREG(status.st_mode)
    if not regular or status.st_size > most:
        os.close(descriptor)
        if regular:
            raise _too_large(path, most)
        kind = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(kind, "it is no regular file", str(path))  # of a folder an IsADirectoryError
    return os.fdopen(descriptor, "rb")


def read_file(path: Path, most: int) -> bytes:
    """Return a regular file's bytes.

    Args:
        path: The file; a link is followed.
        most: Bytes; also of a file that grows while it is read.

    Raises:
        OSError: It is a pipe, a device or a folder, is larger, or cannot be read.
    """
    data = b""
    with open_file(path, most) as file:
        # Python reserves as much as it is asked for: no more than there is, and a byte to see whether more was added.
        while part := file.read(max(min(most, os.fstat(file.fileno()).st_size) - len(data), 0) + 1):
            data = data + part if data else part
            if len(data) > most:
                raise _too_large(path, most)
    return data


class BoundedLines:
    """Lines of a text file, of which a record may take only so many characters, however many lines it has.

    Attributes:
        left: Characters that the record may still take; whoever reads records sets it anew before each.
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
    """Return the value of a JSON text, and nothing but ``ValueError`` for what is none.

    Args:
        text: Its reader bounds its length: a value may take thirty times its room.
        hooks: See ``json.loads``.

    Raises:
        ValueError: It is not JSON, or is nested deeper than Python's stack allows.
    """
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
