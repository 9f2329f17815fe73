"""One reader: strict where something is to be relied on, lenient where somebody looks at what is left."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from pcevolve.auditing import Audit
from pcevolve.errors import ClientError, TranscriptError, UsageError
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path, small_plan())


def broken_after(root: Path, lines: int) -> None:
    log = RunLayout(root).log
    whole = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*whole[:lines], *whole[lines + 1 :]]))


def test_a_whole_record_is_the_same_to_both(finished: Path):
    strict, lenient = RunReader.strict(finished), RunReader.lenient(finished)
    assert strict.entries == lenient.entries
    assert (strict.whole, strict.trouble, strict.proven) == (True, None, len(strict.entries))


def test_a_broken_chain_is_refused_by_one_and_read_as_far_as_it_goes_by_the_other(finished: Path):
    lines = len(RunReader.strict(finished).entries)
    broken_after(finished, 4)
    with pytest.raises(TranscriptError, match="line 5 does not follow"):
        RunReader.strict(finished)
    left = RunReader.lenient(finished)
    assert (left.whole, left.proven, len(left.entries)) == (False, 4, lines - 1)
    assert [each.proven for each in left.traffic.attempts].count(True) == 1
    assert left.trouble == "transcript line 5 does not follow the line before it"


def test_only_a_record_that_is_closed_says_how_useful_its_dataset_is(tmp_path: Path):
    selected = {
        "method": "dp-means", "delta": 1e-5, "pool": "all", "keep": "selected", "candidates": 2, "initial": 4,
        "prototypes": 2, "iterations": 1, "strengths": (0.8,), "centre_first": True,
    }  # fmt: skip
    root = make_paid_run(tmp_path, small_plan(**selected))
    found = RunReader.strict(root).assessment
    assert found is not None
    assert found.word("image")
    log = RunLayout(root).log
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert RunReader.strict(root).assessment is None


def test_whoever_is_given_another_folder_says_so_in_the_same_words(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("x")

    told = []
    for act in (nullcontext, RunFolder(tmp_path).hold, partial(RunFolder(tmp_path).claim, resume=True)):
        with pytest.raises(UsageError) as error, act():
            Audit.of(tmp_path)
        told.append(str(error.value))
    with pytest.raises(ClientError) as read:
        RunReader.strict(tmp_path)
    audited, held, claimed = (each.removeprefix(f"{tmp_path} is not the folder of a run: ") for each in told)
    assert {audited, held, str(read.value).removeprefix(f"{tmp_path} is not the folder of a run: ")} == {
        "it has no transcript"
    }
    assert claimed.startswith(
        "the folder contains other files; choose another --out; nothing was overwritten"
    )
