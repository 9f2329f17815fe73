"""``pcevolve audit``: what it prints and writes, and by which exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pcevolve.app.cli import audit
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path, small_plan())


def test_an_honest_run_holds_and_its_page_leaves_json_alone_on_stdout(run: Path, command):
    told = command("audit", run, "--html", "--json")
    printed = json.loads(told.out)
    assert (told.code, printed["holds"]) == (0, True)
    assert all(not each["faults"] for each in printed["findings"])
    assert (run / "audit" / "wire.html").read_text().startswith("<!doctype html>")
    assert "wire.html" in told.said


def test_statements_on_the_owners_word_are_spelled_for_people(run: Path, command):
    printed = command("audit", run, "-v").out.partition("Stated by the owner, and not verifiable")[2]
    rows = dict(re.findall(r"│ (\S+) +│ (.*?) +│", printed))
    assert (rows["proxied"], rows["data.words"], rows["provider.image_hosts"]) == ("no", "none", "none")
    assert not re.search(r"None|True|False|\[\]|\{", printed)
    assert audit._spell({"releases": 0, "events": []}) == "releases 0, events none"


def test_a_page_or_card_that_somebody_changed_is_told_in_a_line_of_its_own(run: Path, command):
    assert "DIFFERS" not in command("audit", run).out
    for name in ("report.html", "release/README.md"):
        (run / name).write_text((run / name).read_text() + "and harmless")
    told = " ".join(command("audit", run).out.split())
    assert (
        "DIFFERS release/README.md, report.html: differs from what this version makes from the record"
        in told.replace("report.html, release/README.md", "release/README.md, report.html")
    )


def test_a_broken_run_still_gets_its_page_and_exit_code_1_and_nothing_is_cleared_away(run: Path, command):
    (run / ".report.html.partial").write_text("patient 17")
    assert command("audit", run, "--html").code == command("audit", run).code == 1
    log = run / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"wire_bytes":', b'"wire_bytes": ', 1))
    told = command("audit", run, "--html")
    assert told.code == 1
    assert "BROKEN" in (run / "audit" / "wire.html").read_text()
    assert "NO, transcript line" in told.said
    assert "report.html, summary.json: not compared, because the record itself failed the audit" in " ".join(
        told.out.split()
    )
    assert "DIFFERS" not in told.out


def test_what_is_no_run_is_told_in_a_line(tmp_path: Path, command):
    told = command("audit", tmp_path)
    assert told.code == 2
    assert told.said == f"error: {tmp_path} is not the folder of a run: it has no transcript"
    (tmp_path / "run.zip").write_bytes(b"PK")
    assert "run: unzip it first" in command("audit", tmp_path / "run.zip").said
