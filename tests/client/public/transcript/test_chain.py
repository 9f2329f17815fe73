"""The chain of a record's lines, which says how far a run has come without a look into what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.errors import TranscriptError
from pcevolve.public.transcript.chain import Line, has_ended, has_plan, read_chain
from support.runs import SmallRun


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = SmallRun.open(tmp_path)
    run.finish()
    return tmp_path / "transcript"


def cut(folder: Path, lines: int, torn: bytes = b"") -> None:
    log = folder / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:lines]) + torn)


def test_a_run_has_a_plan_from_the_line_that_fixes_it(folder):
    kinds = [each.kind for each in read_chain(folder)]
    planned = kinds.index("planned")
    assert has_plan(folder)
    cut(folder, planned)
    assert not has_plan(folder)
    assert not has_plan(folder.parent / "elsewhere")


def test_a_plan_stays_fixed_where_a_crash_tore_off_what_stands_behind_it(folder):
    cut(folder, 2 + [each.kind for each in read_chain(folder)].index("planned"), b'{"seq":9')
    assert has_plan(folder)
    assert not has_ended(folder)


def test_a_record_has_ended_with_its_closing_line_and_no_line_before(folder):
    assert has_ended(folder)
    cut(folder, sum(1 for _ in read_chain(folder)) - 1)
    assert not has_ended(folder)


@pytest.mark.parametrize("place", [0, 3])
def test_a_line_that_is_left_out_breaks_the_chain(folder, place):
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
    with pytest.raises(TranscriptError, match=rf"line {place + 1} does not follow|made by"):
        list(read_chain(folder))
    assert not has_ended(folder)


def test_a_line_whose_text_was_changed_is_found_by_the_next_one(folder):
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"slot":"', b'"slot":"other-', 1)
    log.write_bytes(b"".join(lines))
    with pytest.raises(TranscriptError, match="line 4 does not follow"):
        list(read_chain(folder))


def test_a_line_has_one_spelling_in_ascii_without_blanks_and_in_order():
    line = Line(seq=0, prev="0" * 64, event={"kind": "x", "a": "\u00e9"})
    assert line.encode() == b'{"event":{"a":"\\u00e9","kind":"x"},"prev":"' + b"0" * 64 + b'","seq":0}\n'
