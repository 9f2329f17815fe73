"""The first configuration of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.sources import gather

OPTIONS = list_options(RunConfig)


@pytest.fixture
def written(tmp_path, monkeypatch, command) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    return tmp_path / "pcevolve.toml"


def test_a_run_reads_it_back_and_finds_its_defaults(written, tmp_path):
    required = {"private": str(tmp_path / "private-images"), "out": Path("runs/first")}
    with gather({}, file=written) as asked:
        read = RunConfig.of(asked).options()
    defaults = RunConfig.of({**required, "domain": "leather texture"}).options()
    drawn = {"seed", "subsample_seed"}
    assert {name: read[name] for name in read.keys() - drawn} == {
        name: defaults[name] for name in defaults.keys() - drawn
    }


def test_what_people_touch_first_is_in_it_and_nothing_else(written):
    text = written.read_text()
    shown = {each.path for each in OPTIONS if each.name in RunConfig.MOST_USED}
    found = [line.split(" = ")[0].lstrip("#") for line in text.splitlines() if re.match(r"#?\w+ = ", line)]
    assert sorted(found) == sorted(path.partition(".")[2] for path in shown)
    assert len(text.splitlines()) < 100
    assert "`pcevolve init --all` writes all options" in text


def test_a_folder_is_made_and_a_file_is_not_taken_for_one(tmp_path, command):
    assert command("init", tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / "pcevolve.toml").exists()
    (tmp_path / "file").touch()
    told = command("init", tmp_path / "file")
    assert told.code == 2
    assert "is a file: give a folder" in told.said
