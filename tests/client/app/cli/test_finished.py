"""What commands about finished runs print, draw and write."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from pcevolve.app.cli.commands import app
from support.judged import finish_run, judge


def test_the_command_prints_a_table_draws_and_writes_what_was_asked_for(tmp_path: Path):
    roots = [finish_run(tmp_path / name) for name in ("one", "other")]
    asked = ["compare", *map(str, roots)]
    unjudged = " ".join(CliRunner().invoke(app, asked).output.split())
    assert "pcevolve evaluate RUN --test DIR measures how useful a dataset is" in unjudged
    assert "Do not share them" not in unjudged
    judge(roots[0])
    drawn = ["--sheet", str(tmp_path / "sheet.png"), "--html", str(tmp_path / "page.html")]
    shown = CliRunner().invoke(app, [*asked, *drawn], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "50.0 ± 1.0" in shown.output
    assert "means 50.0 (v)" in shown.output
    assert "Do not share them" in " ".join(shown.output.split())
    assert {each.name for each in tmp_path.iterdir()} >= {"one", "other", "sheet.png", "page.html"}
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [each["run"] for each in found] == ["one", "other"]
    assert found[0]["judges"]["cnn"]["mean"] == 0.5
