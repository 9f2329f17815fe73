"""Files that are read whole take the memory that they need, not what they might."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pcevolve_shared import reading
from pcevolve_shared.reading import read_file


def test_a_small_file_is_read_whatever_the_bound(tmp_path: Path):
    """Python reserves what it is asked to read: a bound of gigabytes would be more than a process may have."""
    (tmp_path / "file").write_bytes(b"four")
    assert read_file(tmp_path / "file", 2**60) == b"four"


def test_a_file_that_grows_meanwhile_is_read_to_its_end_and_not_beyond_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, real = tmp_path / "file", os.fstat
    path.write_bytes(b"x" * 10)
    monkeypatch.setattr(reading.os, "fstat", lambda descriptor: _append(path, b"y" * 3) or real(descriptor))
    assert read_file(path, 100).startswith(b"x" * 10 + b"yyy")
    with pytest.raises(OSError, match="larger than"):
        read_file(path, 40)


def _append(path: Path, more: bytes) -> None:
    """Add bytes to a file, up to some."""
    if path.stat().st_size < 60:
        with path.open("ab") as file:
            file.write(more)


def test_a_folder_and_a_pipe_are_told_from_files(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError, match="it is no regular file"):
        read_file(tmp_path, 100)
    with pytest.raises(OSError, match="it is no regular file"):
        read_file(tmp_path / "pipe", 100)
