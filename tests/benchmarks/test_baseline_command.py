"""``pcevolve-bench baseline``: the list, and what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcevolve.config.config import RunConfig
from pcevolve.public.options import options_of
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.cli.baseline import ASKED
from pcevolve_benchmarks.cli.main import app, main


def test_without_a_name_all_are_listed_with_what_each_protects():
    shown = CliRunner().invoke(app, ["baseline"], env={"COLUMNS": "300"})
    assert shown.exit_code == 0
    assert all(name in shown.output for name in BASELINES)
    assert "nothing: captions of private images leave as prompts" in " ".join(shown.output.split())


def test_the_help_says_first_that_there_is_no_gate():
    shown = CliRunner().invoke(app, ["baseline", "--help"], env={"COLUMNS": "120"})
    assert "WITHOUT A GATE, on public research data" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pe", "--public-data", "--data", "x", "--out", "y"], "there is no baseline 'pe'"),
        (["rf", "--public-data", "--data", "x"], "--out where the dataset goes: give both"),
        (["rf", "--data", "x", "--out", "y"], "say --public-data if the images are public"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["baseline", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_every_option_that_it_takes_is_one_of_a_run():
    assert {each.name for each in options_of(RunConfig)} >= ASKED
