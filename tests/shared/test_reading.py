"""Files that are read whole take the memory that they need, not what they might."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from pcevolve_shared import reading
from pcevolve_shared.reading import BoundedLines, read_file


def test_a_file_is_read_up_to_its_bound_and_with_a_large_bound_takes_no_more_than_it_holds(tmp_path: Path):
    """Python reserves what it is asked to read: a bound of gigabytes would be more than a process may have."""
    (tmp_path / "file").write_bytes(b"four")
    assert read_file(tmp_path / "file", 2**60) == read_file(tmp_path / "file", 4) == b"four"
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_file(tmp_path / "file", 3)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in Linux's /proc")
def test_what_is_no_file_is_refused_and_left_closed(tmp_path: Path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path, 4)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_record_may_take_so_many_characters_and_no_more():
    lines = BoundedLines(io.StringIO("ab\ncd\nefg\n"), 6)
    assert [next(lines), next(lines)] == ["ab\n", "cd\n"]
    with pytest.raises(ValueError, match="a record is too long"):
        next(lines)
    lines.left = 6
    assert list(lines) == ["fg\n"]


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
    with pytest.raises(IsADirectoryError, match="it is not a regular file"):
        read_file(tmp_path, 100)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_file(tmp_path / "pipe", 100)
