"""What commands about finished runs print, draw and write."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from click.testing import CliRunner

from pcevolve.cli.commands import app
from pcevolve.durable import write_private
from pcevolve.session.folder import RunFolder
from pcevolve.session.owner import OwnerFolder
from support.paid import make_paid_run
from support.runs import small_plan

ACCURACY = {"mean": 0.5, "sem": 0.01, "seeds": [0.5] * 3}
JUDGED = {"judge": "cnn", "voted": False, "dataset": {"accuracy": ACCURACY}}
UNTRAINED = {"judge": "means", "voted": True, "dataset": {"accuracy": {**ACCURACY, "sem": 0.0}}}


def finish_run(root: Path, **changes: object) -> Path:
    return make_paid_run(root, small_plan(run_id=secrets.token_hex(16), **changes))


def judge(root: Path, test: str = "") -> None:
    """Keep what a judge found of a run's dataset, on some held-out data."""
    of = {"manifest": RunFolder(root).digest_manifest(), "test": test}
    write_private(OwnerFolder.of(root).judgement, {"judges": [JUDGED], "classifier": UNTRAINED, **of})


def test_the_command_prints_a_table_draws_and_writes_what_was_asked_for(tmp_path: Path):
    roots = [finish_run(tmp_path / name) for name in ("one", "other")]
    judge(roots[0])
    asked = ["compare", *map(str, roots)]
    drawn = ["--sheet", str(tmp_path / "sheet.png"), "--html", str(tmp_path / "page.html")]
    shown = CliRunner().invoke(app, [*asked, *drawn], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "50.0 ± 1.0" in shown.output
    assert "means 50.0 (v)" in shown.output
    assert "for you alone" in " ".join(shown.output.split())
    assert {each.name for each in tmp_path.iterdir()} >= {"one", "other", "sheet.png", "page.html"}
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [each["run"] for each in found] == ["one", "other"]
    assert found[0]["judges"]["cnn"]["mean"] == 0.5
