"""``pcevolve init``: a configuration file that a run reads, with every option in it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from pcevolve.cli import main as cli
from pcevolve.cli.main import main
from pcevolve.cli.options import given
from pcevolve.public.options import Panel, options_of
from pcevolve.session.settings import RunSettings

OPTIONS = options_of(RunSettings)


def init(*arguments: object) -> int:
    try:
        main(["init", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def settings_from(path: Path) -> RunSettings:
    """What ``pcevolve run --config`` makes of a file."""
    group = typer.main.get_command(cli.app)
    command = group.get_command(group.make_context("pcevolve", ["run"]), "run")
    context = command.make_context("run", ["--config", str(path)])
    with context:
        found: dict[str, Any] = context.params
        return RunSettings.of(given({name: found[name] for name in RunSettings.model_fields}))


@pytest.fixture
def written(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert init() == 0
    return tmp_path / "pcevolve.toml"


def test_a_run_reads_it_back_and_finds_its_defaults(written, tmp_path):
    settings = settings_from(written)
    required = {
        "private": str(tmp_path / "private-images"),
        "out": Path("runs/first"),
        "domain": "leather texture",
    }
    plain = RunSettings.of(required)
    drawn = {"seed", "subsample_seed"}
    assert settings.model_dump(exclude=drawn) == plain.model_dump(exclude=drawn)


def test_the_ten_most_used_options_come_first_and_all_others_are_comments(written):
    values = tomllib.loads(written.read_text())
    most_used = [each.flag.removeprefix("--") for each in OPTIONS if each.setting.panel is Panel.MOST_USED]
    assert set(values) <= set(most_used)
    assert set(most_used) - set(values) == {"iterations"}, "which the method chooses"
    lines = written.read_text().splitlines()
    places = [
        next(place for place, line in enumerate(lines) if line.lstrip("#").startswith(f"{each.flag[2:]} = "))
        for each in OPTIONS
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_comment_becomes_an_option_by_taking_the_mark_away(written, option):
    flag = option.flag.removeprefix("--")
    lines = [
        line.removeprefix("#") if line.startswith(f"#{flag} = ") else line
        for line in written.read_text().splitlines()
    ]
    text = "\n".join(lines)
    if flag == "subsample":
        text = text.replace("shots = 10", "shots = 16")
    written.write_text(text)
    assert flag in tomllib.loads(text)
    settings_from(written)


def test_each_option_says_what_it_is_for(written):
    text = " ".join(line.removeprefix("# ") for line in written.read_text().splitlines())
    assert all(" ".join(option.help.split()) in text for option in OPTIONS)


def test_nothing_is_overwritten_unless_it_was_meant(written, capsys):
    written.write_text("years of work")
    assert init() == 2
    assert "pcevolve.toml is there already: --force overwrites it" in capsys.readouterr().err
    assert written.read_text() == "years of work"
    assert init("--force") == 0
    assert "epsilon" in written.read_text()


def test_a_folder_is_made_and_a_file_is_not_taken_for_one(tmp_path, capsys):
    assert init(tmp_path / "a" / "b") == 0
    assert (tmp_path / "a" / "b" / "pcevolve.toml").exists()
    (tmp_path / "file").touch()
    assert init(tmp_path / "file") == 2
    assert "is a file: name a folder" in capsys.readouterr().err
