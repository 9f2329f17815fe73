"""Files of a record, named by their SHA-256."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pcevolve.errors import TranscriptError
from pcevolve_shared import limits
from pcevolve_shared.reading import read_file

MOST_BYTES = 2 * limits.MAX_RESPONSE_BYTES
"""Most bytes of a body, and of a file of one."""
_DIGEST = re.compile("[0-9a-f]{64}")


class StoredFiles:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, digest: str) -> bytes:
        """Read a stored file and check it against its name (``TranscriptError`` if it is missing or changed)."""
        # A name that is not a digest could lead out of the folder.
        if not _DIGEST.fullmatch(digest):
            raise TranscriptError(f"no transcript file has the name {digest[:80]!a}")
        try:
            data = read_file(self.folder / digest, MOST_BYTES)
        except OSError as error:
            raise TranscriptError(
                f"transcript file {digest[:12]}… cannot be read: {error.strerror}"
            ) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise TranscriptError(f"transcript file {digest[:12]}… was changed")
        return data
