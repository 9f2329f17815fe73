"""The pages of a run that an earlier version wrote can be made as this one makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from pcevolve.auditing import audit
from pcevolve.cli.main import app
from pcevolve.pages.anew import pages_anew
from pcevolve.pages.preview import write_preview
from pcevolve.transcript import RunReader

Make = Callable[..., Path]


def faults(root: Path) -> list[str]:
    return [fault for finding in audit(root) for fault in finding.faults]


def test_pages_of_an_earlier_version_are_told_with_what_mends_them_and_then_pass(finished: Make):
    root = finished(in_turns=True)
    write_preview(RunReader.strict(root))
    for name in ("report.html", "preview.html"):
        (root / name).write_text("as an earlier version made it")
    assert all("have it made anew (pcevolve report" in each for each in faults(root))
    assert len(faults(root)) == 2
    done = CliRunner().invoke(app, ["report", str(root)])
    assert done.exit_code == 0
    assert done.output.split() == [str(root / "report.html"), str(root / "preview.html")]
    assert faults(root) == []


def test_a_run_without_a_preview_gets_none(finished: Make):
    root = finished()
    assert pages_anew(root) == [root / "report.html"]
    assert not (root / "preview.html").exists()
