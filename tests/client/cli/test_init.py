"""``pcevolve init``: a configuration file that a run reads, with what people touch first, or every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.config.sources import gather
from pcevolve.public.options import list_options

OPTIONS = list_options(RunConfig)


def settings_from(path: Path) -> RunConfig:
    """Read a file like ``pcevolve run --config``."""
    return RunConfig.of(gather(RunConfig, {}, file=path).values)


@pytest.fixture
def written(tmp_path, monkeypatch, command) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    return tmp_path / "pcevolve.toml"


def test_a_run_reads_it_back_and_finds_its_defaults(written, tmp_path):
    settings = settings_from(written)
    required = {
        "private": str(tmp_path / "private-images"),
        "out": Path("runs/first"),
        "domain": "leather texture",
    }
    plain = RunConfig.of(required)
    drawn = {"seed", "subsample_seed"}
    made, there = settings.options(), plain.options()
    assert {name: made[name] for name in made.keys() - drawn} == {
        name: there[name] for name in there.keys() - drawn
    }


def test_what_people_touch_first_is_in_it_and_nothing_else(written):
    text = written.read_text()
    shown = {each.path for each in OPTIONS if each.name in RunConfig.MOST_USED}
    found = [line.split(" = ")[0].lstrip("#") for line in text.splitlines() if re.match(r"#?\w+ = ", line)]
    assert sorted(found) == sorted(path.partition(".")[2] for path in shown)
    assert len(text.splitlines()) < 100
    assert "`pcevolve init --all` writes all of them" in text


def test_a_folder_is_made_and_a_file_is_not_taken_for_one(tmp_path, command):
    assert command("init", tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / "pcevolve.toml").exists()
    (tmp_path / "file").touch()
    told = command("init", tmp_path / "file")
    assert told.code == 2
    assert "is a file: name a folder" in told.said
