"""A pack holds what may be shared of a run and nothing else, is the same wherever it is made, and audits."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.auditing import Audit, pack
from pcevolve.errors import TranscriptError, UsageError
from support.runs import SmallRun
from support.traces import find_traces

WORD = "zebra of patient Smith"


def unpack(packed: Path, to: Path) -> Path:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(to)
    (root,) = to.iterdir()
    return root


def test_what_was_unpacked_audits_and_nothing_of_it_is_left_unverified(
    finished: Callable[..., Path], tmp_path
):
    root = unpack(pack(Audit.of(finished()), tmp_path / "run.zip"), tmp_path / "unpacked")
    audited = Audit.of(root)
    assert (audited.holds, audited.unverified) == (True, [])
    assert {each.name for each in root.iterdir()} == {"release", "transcript", "report.html", "summary.json"}


def test_a_pack_is_the_same_whenever_and_wherever_it_is_made(finished: Callable[..., Path], tmp_path):
    one, other = finished(), tmp_path / "elsewhere" / "by another name"
    shutil.copytree(one, other)
    for path in other.rglob("*"):
        path.chmod(0o700)
        os.utime(path, (1_234_567_890, 1_234_567_890))
    packs = [pack(Audit.of(root), tmp_path / f"{root.name}.zip") for root in (one, other)]
    assert packs[0].read_bytes() == packs[1].read_bytes()
    assert {path.stat().st_mtime for path in packs} == {315_532_800}
    with zipfile.ZipFile(packs[0]) as archive:
        told = {(each.date_time, each.extra, each.comment) for each in archive.infolist()}
    assert (told, archive.comment) == ({((1980, 1, 1, 0, 0, 0), b"", b"")}, b"")


@pytest.mark.parametrize(
    "name",
    ["report.html", "live.html", "preview.html", "summary.json", "release/README.md", "audit/wire.html"],
)
def test_what_somebody_wrote_into_a_page_is_not_packed(finished: Callable[..., Path], tmp_path, name):
    root = finished()
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(WORD)
    (tmp_path / "packed").mkdir()
    packed = pack(Audit.of(root), tmp_path / "packed" / "run.zip")
    assert find_traces(packed.parent, [WORD, str(tmp_path)]) == []


@pytest.mark.parametrize("name", ["options.json", "release/cut/0.txt", "transcript/bodies/note", "private/x"])
def test_a_run_with_a_file_that_is_none_of_its_own_is_not_packed(
    finished: Callable[..., Path], tmp_path, name
):
    root = finished()
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(WORD)
    with pytest.raises(TranscriptError, match="is not packed, for its audit is broken: "):
        pack(Audit.of(root), tmp_path / "run.zip")
    assert not list(tmp_path.glob("*.zip*"))


def test_an_unfinished_run_is_not_packed_and_nothing_is_overwritten(finished: Callable[..., Path], tmp_path):
    SmallRun.open(tmp_path / "begun").close()
    with pytest.raises(UsageError, match="an unfinished run: continue it with pcevolve run --resume"):
        pack(Audit.of(tmp_path / "begun"), tmp_path / "run.zip")
    (tmp_path / "run.zip").write_text("mine")
    with pytest.raises(UsageError, match="already exists: give another --out; nothing was overwritten"):
        pack(Audit.of(finished()), tmp_path / "run.zip")
    assert (tmp_path / "run.zip").read_text() == "mine"
    with pytest.raises(UsageError, match="lies in the run's folder"):
        pack(Audit.of(tmp_path / "run"), tmp_path / "run" / "x.zip")
