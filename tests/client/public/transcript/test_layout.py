"""Where the files of a run lie, and of which version they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.transcript.irregular import find_file_faults
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path, small_plan())


OLD = "was made by pcevolve 0.1: audit it, or go on with it, with that version"
OF_FORMAT_2 = "was made by pcevolve 0.2.0: audit it, or go on with it, with that version"
NEW = r"was made by a later pcevolve \(format 4, and this one reads 3\): use that version"


@pytest.mark.parametrize(
    ("written", "said"),
    [(None, OLD), ("pcevolve-transcript/2", OLD), (1, OLD), (2, OF_FORMAT_2), (4, NEW)],
    ids=str,
)
def test_a_run_of_another_version_is_refused_in_a_sentence_and_left_as_it_is(run: Path, written, said: str):
    log = run / "transcript" / "log.jsonl"
    number = b"" if written is None else f'"format":{json.dumps(written)},'.encode()
    log.write_bytes(log.read_bytes().replace(b'"format":3,', number, 1))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for act in (
        RunLayout(run).require_transcript,
        lambda: RunReader.lenient(run),
        lambda: Transcript(log.parent),
    ):
        with pytest.raises(UsageError, match=said):
            act()
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_files_that_are_not_listed_that_are_missing_and_folders_without_any_are_named_in_order(
    tmp_path: Path,
):
    for name in ("a/one", "a/two", "b/c/three", "d/.DS_Store", "four\x1b"):
        path = tmp_path / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "release" / "empty").mkdir()
    found = list(find_file_faults(tmp_path, "release", {"a/one", "a/gone", "e"}, "is odd", ("empty",)))
    assert found == [
        "release/a/two is odd",
        "release/b is a folder that is odd",
        "release/b/c is a folder that is odd",
        "release/b/c/three is odd",
        "release/d is a folder that is odd",
        "release/d/.DS_Store is odd (systems make such unasked: delete it)",
        "release/four\\x1b is odd",
        "release/a/gone is missing",
        "release/e is missing",
    ]
    assert list(find_file_faults(tmp_path, "nowhere", {"x"}, "is odd")) == ["nowhere/x is missing"]
