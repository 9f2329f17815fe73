"""A run's folder and the server on this machine."""

from __future__ import annotations

from functools import partial

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.reader import RunReader
from support.runs import SmallRun


def claim(root, resume: bool = False):
    return RunFolder(root).claim(resume)


def test_two_processes_cannot_work_in_one_folder(begun):
    for take in (RunFolder(begun).hold, partial(claim, begun, resume=True)):
        with take(), pytest.raises(UsageError, match="another process is using"), take():
            pass
    with pytest.raises(BlockingIOError, match="no more processes"), claim(begun, resume=True):
        raise BlockingIOError("no more processes")


def test_whether_a_process_is_at_work_can_be_asked_and_makes_nothing(begun):
    assert not RunFolder(begun / "elsewhere").is_held()
    assert not (begun / "elsewhere").exists()
    with RunFolder(begun).hold():
        assert RunFolder(begun).is_held()
    assert not RunFolder(begun).is_held()


def test_a_run_has_been_where_it_stored_files_or_showed_images(tmp_path):
    folder = RunFolder(tmp_path)
    folder.bodies.mkdir(parents=True)
    assert not folder.has_traces()
    (folder.bodies / "x").touch()
    assert folder.has_traces()
    folder.clear_false_start()
    assert folder.has_traces(), "without a record nobody knows whose it is"
    folder.log.touch()
    folder.clear_false_start()
    assert not folder.has_traces()
    folder.preview.touch()
    assert folder.has_traces()


def test_a_folder_of_somebody_elses_with_names_as_a_run_has_is_refused_and_left_as_it_is(tmp_path):
    mine = [tmp_path / each for each in ("options.json", "transcript/interview.txt", "private/cluster/x")]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    with pytest.raises(UsageError, match="the folder contains other files; choose another"), claim(tmp_path):
        pass
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(mine)
    (tmp_path / ".lock").touch()
    with claim(tmp_path):
        assert mine[0].read_text() == mine[1].read_text() == "mine"


@pytest.mark.parametrize("take", [RunFolder.hold, partial(RunFolder.claim, resume=True)])
def test_what_a_killed_command_left_is_cleared_away_and_a_folder_that_was_whole_takes_its_place(begun, take):
    for name in (".release-parquet.fresh", "audit", ".audit.fresh", "..audit.fresh.partial", ".mine.partial"):
        (begun / name).mkdir()
        (begun / name / name).touch()
    (begun / ".report.html.partial").touch()
    with take(RunFolder(begun)):
        left = {path.name for path in begun.iterdir()} - {"transcript", ".lock"}
    assert left == {"release-parquet", "audit", ".mine.partial"}
    assert (begun / "audit" / ".audit.fresh").exists()


@pytest.fixture
def begun(tmp_path):
    with claim(tmp_path):
        SmallRun.open(tmp_path).close()
    return tmp_path


def test_an_unfinished_run_is_continued_only_when_asked(begun):
    with pytest.raises(UsageError, match="continue it with pcevolve run --resume"), claim(begun):
        pass
    before = (begun / "transcript" / "log.jsonl").read_bytes()
    with claim(begun, resume=True):
        assert (begun / "transcript" / "log.jsonl").read_bytes() == before


def test_a_line_that_a_power_cut_tore_off_keeps_no_run_from_going_on(begun):
    log = RunFolder(begun).log
    whole = log.read_bytes()
    for length in (len(whole) - 5, whole.index(b'"planned"'), 10):
        log.write_bytes(whole[:length])
        with claim(begun, resume=True):
            SmallRun.open(begun).close()


def test_a_command_that_goes_on_can_be_typed(tmp_path):
    root = tmp_path / "my run"
    with claim(root):
        SmallRun.open(root).close()
    with pytest.raises(UsageError, match=r"pcevolve run --resume '/.*/my run', or"), claim(root):
        pass
    assert RunReader.lenient(root).advice == f"continue it with pcevolve run --resume '{root}'"
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    assert "begin again with the same command" in RunReader.lenient(root).advice
