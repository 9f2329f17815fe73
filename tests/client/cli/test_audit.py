"""``pcevolve audit``: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.cli.main import main
from support.runs import SmallRun


@pytest.fixture
def run(tmp_path: Path) -> Path:
    finished = SmallRun.open(tmp_path)
    finished.finish()
    finished.close()
    return tmp_path


def audit(*arguments: object) -> int:
    """Exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_an_honest_run_holds(run: Path, capsys):
    assert audit(run, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["holds"] is True
    assert all(not each["faults"] for each in printed["findings"])


def test_a_page_is_written_on_request_and_json_stays_alone_on_stdout(run: Path, capsys):
    assert audit(run, "--html", "--json") == 0
    assert (run / "audit" / "wire.html").read_text().startswith("<!doctype html>")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["holds"] is True
    assert "wire.html" in printed.err


def test_a_broken_run_still_gets_its_page_and_exit_code_1(run: Path, capsys):
    log = run / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"wire_bytes":', b'"wire_bytes": ', 1))
    assert audit(run, "--html") == 1
    assert "BROKEN" in (run / "audit" / "wire.html").read_text()
    assert "NO, transcript line" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_one_line_and_exit_code_2(tmp_path: Path, capsys):
    assert audit(tmp_path / "nope", "--html") == 2
    assert "nope is not the folder of a run: it has no transcript" in capsys.readouterr().err


def test_a_card_in_other_words_is_not_checked_and_has_a_code_of_its_own(run: Path, capsys):
    card = run / "release" / "README.md"
    card.write_text(card.read_text().replace("## Guarantee", "## What is promised"))
    assert audit(run, "--html") == 11
    assert "NOT CHECKED, release/README.md: not this version's words" in capsys.readouterr().err
    assert "## Guarantee" in (run / "audit" / "README.md").read_text()
