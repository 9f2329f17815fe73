"""Files and folders that are written durably are whole, or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.durable import write_durably, write_folder_durably


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def half_filled(path: Path) -> None:
    with write_folder_durably(path) as folder:
        (folder / "half").write_bytes(b"a")
        raise OSError("disk full")


def test_a_file_gets_its_content_and_mode_and_leaves_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "key"
    for content in (b"first", b"second"):
        write_durably(path, content, 0o600)
        assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["key"]


def test_a_link_in_the_place_of_the_half_written_file_is_not_followed(tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".page.partial").symlink_to(precious)
    write_durably(tmp_path / "page", b"new")
    assert (precious.read_text(), (tmp_path / "page").read_bytes()) == ("mine", b"new")


def test_a_folder_gets_its_name_when_it_is_filled(tmp_path: Path):
    with write_folder_durably(tmp_path / "release") as folder:
        (folder / "class").mkdir()
        (folder / "class" / "a.png").write_bytes(b"a")
        assert not (tmp_path / "release").exists()
    assert (tmp_path / "release" / "class" / "a.png").read_bytes() == b"a"
    assert names(tmp_path) == ["release"]


def test_a_folder_that_could_not_be_filled_is_not_there_and_can_be_filled_later(tmp_path: Path):
    with pytest.raises(OSError, match="disk full"):
        half_filled(tmp_path / "release")
    assert not (tmp_path / "release").exists()
    with write_folder_durably(tmp_path / "release") as folder:
        assert names(folder) == []
    assert (tmp_path / "release").is_dir()
