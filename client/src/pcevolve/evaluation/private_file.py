"""Write private results where only their owner can read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pcevolve.durable import write_durably
from pcevolve.errors import DataError


def write_private(path: Path, result: Mapping[str, object]) -> None:
    """Write JSON with mode 0600 into a folder with mode 0700, replacing an older file at once.

    Args:
        path: Its folder is made if it is missing and closed to others if it is not.
        result: JSON values, keys sorted in the file.

    Raises:
        DataError: The file cannot be written; an older one is still whole.
    """
    text = json.dumps(result, indent=2, sort_keys=True, allow_nan=False) + "\n"
    write_private_bytes(path, text.encode())


def write_private_bytes(path: Path, data: bytes) -> None:
    """Write a file with mode 0600 into a folder with mode 0700; see ``write_private``.

    Raises:
        DataError: The file cannot be written; an older one is still whole.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        write_durably(path, data, 0o600)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
