"""``pcevolve audit``: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.runs import SmallRun


@pytest.fixture
def run(tmp_path: Path) -> Path:
    finished = SmallRun.open(tmp_path)
    finished.finish()
    finished.close()
    return tmp_path


def test_an_honest_run_holds_and_its_page_leaves_json_alone_on_stdout(run: Path, command):
    told = command("audit", run, "--html", "--json")
    printed = json.loads(told.out)
    assert (told.code, printed["holds"]) == (0, True)
    assert all(not each["faults"] for each in printed["findings"])
    assert (run / "audit" / "wire.html").read_text().startswith("<!doctype html>")
    assert "wire.html" in told.said


def test_a_broken_run_still_gets_its_page_and_exit_code_1(run: Path, command):
    log = run / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"wire_bytes":', b'"wire_bytes": ', 1))
    told = command("audit", run, "--html")
    assert told.code == 1
    assert "BROKEN" in (run / "audit" / "wire.html").read_text()
    assert "NO, transcript line" in told.said


def test_a_folder_that_is_no_run_is_one_line_and_exit_code_2(tmp_path: Path, command):
    told = command("audit", tmp_path / "nope", "--html")
    assert told.code == 2
    assert "nope is not the folder of a run: it has no transcript" in told.said


def test_a_card_in_other_words_is_not_checked_and_has_a_code_of_its_own(run: Path, command):
    card = run / "release" / "README.md"
    card.write_text(card.read_text().replace("## Guarantee", "## What is promised"))
    told = command("audit", run, "--html")
    assert told.code == 11
    assert "NOT CHECKED, release/README.md: not this version's words" in told.said
    assert "## Guarantee" in (run / "audit" / "README.md").read_text()
