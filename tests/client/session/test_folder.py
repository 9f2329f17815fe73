"""The run folder: nothing is overwritten, and only one process writes."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.session.folder import RunFolder
from support.runs import SmallRun


def claim(root, resume: bool = False):
    return RunFolder(root).claimed(resume)


def test_a_new_folder_is_made_with_a_private_part_for_the_owner_alone(tmp_path):
    with claim(tmp_path / "a" / "run"):
        pass
    assert (tmp_path / "a" / "run" / "private").stat().st_mode & 0o777 == 0o700


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="holds something else"), claim(tmp_path, resume=True):
        pass


def test_a_file_is_refused(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(UsageError, match="is not a folder"), claim(tmp_path / "run"):
        pass


def test_two_processes_cannot_work_in_one_folder(tmp_path):
    with claim(tmp_path), pytest.raises(UsageError, match="another process is at work"), claim(tmp_path):
        pass


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


def test_a_run_that_never_fixed_its_plan_is_begun_afresh(tmp_path):
    with claim(tmp_path):
        (tmp_path / "transcript").mkdir()
        (tmp_path / "transcript" / "log.jsonl").write_bytes(b"")
    with claim(tmp_path):
        assert not (tmp_path / "transcript").exists()
