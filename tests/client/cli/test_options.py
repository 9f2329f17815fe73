"""The command line, the page about it and the file of ``pcevolve init`` are what the options' declarations say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.config.sources import gather
from pcevolve.config.table import run_options
from pcevolve.public.declared import list_options

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pcevolve au", ["audit", "audit-dp"]),
        ("pcevolve run --res", ["--resume"]),
        ("pcevolve run --set privacy.rel", ["privacy.relation="]),
        ("pcevolve run --set privacy.relation=a", ["privacy.relation=add-remove"]),
        ("pcevolve run --set method.th", ["method.threshold=", "method.threshold_end="]),
        ("pcevolve budget sh", ["show"]),
    ],
)
def test_a_shell_can_complete_commands_options_and_their_words(typed, offered):
    environment = {**os.environ, "_PCEVOLVE_COMPLETE": "bash_complete", "COMP_WORDS": typed}
    environment["COMP_CWORD"] = str(len(typed.split()) - 1)
    command = [Path(sys.executable).parent / "pcevolve"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [f"plain,{each}" for each in offered]


def test_a_required_option_that_is_missing_is_told_in_a_line(command):
    told = command("run", "--epsilon", "3")
    assert told.code == 2
    assert told.said == "error: --private, --domain and --out must be given: --help says more"


def test_demonstrations_of_images_and_of_texts_stand_beside_each_other(command, monkeypatch):
    begun = []
    monkeypatch.setattr(
        "pcevolve.session.first.demo.demonstrate", lambda *asked: begun.append(asked[:2]) or {}
    )
    monkeypatch.setattr("pcevolve.cli.run.show", lambda *_: None)
    assert (command("demo").code, command("demo", "--text").code) == (0, 0)
    assert begun == [(Path("runs/demo"), "image"), (Path("runs/demo-text"), "text")]


def test_a_demonstration_that_is_stopped_before_its_run_begins_says_how_it_goes_on(command, monkeypatch):
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pcevolve.session.first.demo._demonstrate", press)
    told = command("demo")
    assert (told.code, told.said) == (130, "stopped to go on: the same command again")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("privacy.dleta=1", "--set: there is no option 'privacy.dleta'; did you mean privacy.delta?"),
        ("votes=3", "--set: there is no option 'votes'; did you mean method.votes?"),
        ("privacy.delta", "--set privacy.delta: say which value: --set privacy.delta=VALUE"),
        ("method.votes=3", "method.votes: only aug-pe, pe has it"),
        ("privacy.delta=2", "privacy.delta: "),
        ("", "--set: there is no option ''; docs/options.md lists all, as section.key"),
    ],
)
def test_a_wrong_key_is_told_with_the_one_that_may_be_meant(command, said, told):
    refused = command("run", "--private", "digits", "--domain", "x", "--out", "nowhere", "--set", said)
    assert refused.code == 2
    assert refused.said.startswith(f"error: {told}")


# -- pcevolve init: a file that a run reads, with what people touch first -----------------------------------------

OPTIONS = list_options(RunConfig)


@pytest.fixture
def written(tmp_path, monkeypatch, command) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    return tmp_path / "pcevolve.toml"


def test_a_run_reads_it_back_and_finds_its_defaults(written, tmp_path):
    required = {"private": str(tmp_path / "private-images"), "out": Path("runs/first")}
    read = RunConfig.of(gather(run_options(), {}, file=written).values).options()
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
    assert "`pcevolve init --all` writes all of them" in text


def test_a_folder_is_made_and_a_file_is_not_taken_for_one(tmp_path, command):
    assert command("init", tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / "pcevolve.toml").exists()
    (tmp_path / "file").touch()
    told = command("init", tmp_path / "file")
    assert told.code == 2
    assert "is a file: name a folder" in told.said
