"""Files and folders that are written durably are whole, or not there at all; private ones are for their owner alone."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pcevolve.public.durable import (
    replace_folder_durably,
    settle,
    write_durably,
    write_files_durably,
    write_folder_durably,
    write_private,
)
from pcevolve.public.encoders.singly import thread_count


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def half_filled(writing: AbstractContextManager[Path], trouble: type[BaseException]) -> None:
    with writing as folder:
        (folder / "half").write_bytes(b"a")
        raise trouble("disk full")


def test_a_file_gets_its_content_and_mode_and_leaves_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "key"
    for content in (b"first", b"second"):
        write_durably(path, content, 0o600)
        assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["key"]


def test_several_files_are_on_disk_before_any_has_its_name_and_their_folder_after_that(
    tmp_path: Path, monkeypatch
):
    done: list[str] = []
    sync, rename = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        done.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        sync(descriptor)

    def note_rename(path: Path, to: Path) -> Path:
        done.append(f"name {to.name}")
        return rename(path, to)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_rename)
    write_files_durably({tmp_path / name: name.encode() for name in "ab"})
    assert done == ["sync .a.partial", "sync .b.partial", "name a", "name b", f"sync {tmp_path.name}"]
    assert [(tmp_path / name).read_text() for name in "ab"] == ["a", "b"]
    write_files_durably({})
    assert names(tmp_path) == ["a", "b"]


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


@pytest.mark.parametrize("write", [write_folder_durably, replace_folder_durably])
@pytest.mark.parametrize("trouble", [OSError, KeyboardInterrupt])
def test_of_a_folder_that_could_not_be_filled_nothing_is_left_and_it_can_be_filled_later(
    tmp_path: Path, write, trouble
):
    with pytest.raises(trouble, match="disk full"):
        half_filled(write(tmp_path / "release"), trouble)
    assert names(tmp_path) == []
    with write_folder_durably(tmp_path / "release") as folder:
        assert names(folder) == []
    assert (tmp_path / "release").is_dir()


def test_a_folder_is_replaced_although_a_killed_process_left_a_whole_one_beside_it(
    tmp_path: Path, monkeypatch
):
    for place in ("audit", ".audit.fresh"):
        (tmp_path / place / place).mkdir(parents=True)
    with monkeypatch.context() as stuck:
        stuck.setattr("shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(OSError, match="not empty"):
            settle(tmp_path / "audit")
    assert names(tmp_path) == [".audit.fresh", "audit"], "the one that is whole stays"
    with replace_folder_durably(tmp_path / "audit") as folder:
        (folder / "new").touch()
    assert (names(tmp_path), names(tmp_path / "audit")) == (["audit"], ["new"])


def test_of_a_file_that_could_not_be_written_nothing_is_left_and_the_older_one_stays(
    tmp_path: Path, monkeypatch
):
    write_durably(tmp_path / "a", b"older")
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_files_durably({tmp_path / name: b"newer" for name in "ab"})
    assert (names(tmp_path), (tmp_path / "a").read_bytes()) == (["a"], b"older")


def test_a_system_without_what_linux_alone_has_writes_and_computes(tmp_path: Path, monkeypatch):
    monkeypatch.delattr(os, "posix_fadvise")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    write_durably(tmp_path / "page", b"whole")
    assert (tmp_path / "page").read_bytes() == b"whole"
    assert thread_count() >= 1


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_file_and_folder_are_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        write_private(tmp_path / "run" / "private" / "accuracy.json", {"mean": 0.5})
    finally:
        os.umask(before)
    assert mode(tmp_path / "run" / "private") == 0o700
    assert mode(tmp_path / "run" / "private" / "accuracy.json") == 0o600


def test_a_folder_that_is_somebody_s_already_keeps_its_mode(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    write_private(tmp_path / "shared" / "result.json", {"a": 1})
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o1777
    assert mode(tmp_path / "shared" / "result.json") == 0o600
