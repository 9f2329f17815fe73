"""A refusal at once loads none of the libraries that take seconds; a new process is asked what it loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pcevolve.app.cli.commands import COMMANDS
from support.paid import make_paid_run
from support.probing import HEAVY, run_to_end, run_without_torch
from support.runs import small_plan

pytestmark = pytest.mark.system
REFUSED = (
    ("--private nowhere", 3, "nowhere: no such folder"),
    ("--test nowhere", 3, "nowhere: no such folder"),
    ("--out full", 2, "contains other files; choose another --out"),
    ("--shots 0", 2, "--shots: Input should be greater than or equal to 1"),
    (f"--shots {10**400}", 2, "--shots: Input should be less than or equal to 1000000000"),
    ("--api ftp://api", 2, "--api 'ftp://api' is not an address"),
    ("--dialect morse", 2, "unknown dialect 'morse'"),
    ("--encoder eyes", 2, "no encoder 'eyes'"),
    ("--set privacy.lifetime_epsilon=nan", 2, "lifetime_epsilon must be a finite number above 0, not nan"),
    ("--unit-map nowhere", 3, "nowhere: no such file"),
    ("--set encoder.weights=nowhere --encoder clip", 2, "nowhere: no such file"),
    ("--set encoder.weights=. --encoder words --dialect chat", 2, "encoder words has weights of its own"),
    ("--set data.subsample=3 --shots 4", 2, "data.subsample 3 and --shots 4 differ: leave --shots out"),
    ("--set privacy.ledger=secret.key", 4, "a ledger's key: choose another file with privacy.ledger"),
)
"""Changes to a run that would begin otherwise, with the exit code and the complaint."""
PATHS = {"--private", "--test", "--out"}


@pytest.fixture
def options(tmp_path: Path) -> dict[str, object]:
    """Of a run that would begin, were its private folder not empty."""
    (tmp_path / "private" / "cut").mkdir(parents=True)
    (tmp_path / "private" / "good").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    return {"--private": tmp_path / "private", "--domain": "scratch", "--out": tmp_path / "out"}


def a_run(options: dict[str, object]) -> list[object]:
    return ["run", *(each for pair in options.items() for each in pair)]


SLOW = ("pydantic", "rich", "numpy", "typer")
"""Libraries that take longer to load than help and a refusal may."""


def test_help_of_every_command_loads_no_library_but_click():
    commands = [(), ("budget", "plan"), *((name,) for name in COMMANDS)]
    pages = run_to_end(*((*command, "--help") for command in commands), heavy=SLOW + HEAVY)
    assert pages == [[0, "", []]] * len(commands)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--epsilon", "Option '--epsilon' requires an argument"),
        ("--colour red", "No such option '--colour'"),
        ("--epsilon 3", "--private, --domain and --out must be given"),
        ("--epsilon 0", "--epsilon must be a finite number above 0"),
        ("--shots few", "--shots: Input should be a valid integer"),
        ("--candidates 1000001", "--candidates: Input should be less than or equal to 1000000"),
        ("--delta 1", "--delta: delta must be at least 0 and below 1"),
        ("--method luck", "unknown method 'luck'"),
        ("--set privacy.relation=sideways", "privacy.relation: Input should be"),
        ("--set privacy.dleta=1", "there is no option 'privacy.dleta'; did you mean privacy.delta?"),
        ("--votes 3", "--votes is not an option: give --set method.votes=VALUE"),
        ("--config nowhere.toml", "configuration nowhere.toml cannot be read"),
    ],
)
def test_a_wrong_option_is_told_before_any_library_but_click_is_loaded(words, complaint):
    ((code, said, loaded),) = run_to_end(["run", *words.split()], heavy=SLOW + HEAVY)
    assert (code, loaded) == (2, [])
    assert complaint in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("evalute", "No such command 'evalute'. Did you mean 'evaluate'?"),
        ("xyzzy", "No such command 'xyzzy'.\n"),
    ],
)
def test_a_command_that_there_is_not_is_told_with_the_one_that_is_spelt_like_it(typed, said):
    ((code, words, loaded),) = run_to_end([typed], heavy=SLOW + HEAVY)
    assert (code, loaded) == (2, [])
    assert words.endswith(said) or said in words


def test_a_run_that_cannot_be_is_refused_before_anything_heavy_is_loaded(options, tmp_path):
    def place(row: str) -> dict[str, object]:
        words = row.split()
        changed = dict(zip(words[::2], words[1::2], strict=True))
        return {name: tmp_path / value if name in PATHS else value for name, value in changed.items()}

    found = run_to_end(*(a_run(options | place(row)) for row, *_ in REFUSED))
    for (changes, code, complaint), (ended_with, said, loaded) in zip(REFUSED, found, strict=True):
        assert (ended_with, loaded) == (code, []), changes
        assert complaint in said
        assert [line for line in said.splitlines() if line] == [said.strip()]
        assert said.startswith("error: ")
    assert {each.name for each in tmp_path.iterdir()} == {"private", "full"}, "nothing was made"


def test_a_folder_that_is_no_run_and_a_ledger_that_is_not_there_are_refused_as_soon(tmp_path):
    nowhere = str(tmp_path / "nowhere")
    commands = {
        ("audit", nowhere): 2,
        ("report", nowhere): 2,
        ("classify", nowhere, "x.png"): 2,
        ("run", "--resume", nowhere): 2,
        ("budget", "show", "--ledger", nowhere): 0,
        ("check", nowhere): 3,
        ("run", "--config", nowhere): 2,
    }
    found = run_to_end(*commands)
    assert [(code, loaded) for code, _, loaded in found] == [(code, []) for code in commands.values()]


def test_names_of_classes_are_read_in_utf_8_in_every_locale(tmp_path):
    """In another encoding an honest run of another machine was called broken."""
    run = make_paid_run(tmp_path / "run", small_plan(labels=("größe", "日本")))
    other = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-I", Path(sys.executable).with_name("pcevolve"), "audit", run, "--verbose"]
    told = subprocess.run(command, env=other, capture_output=True, timeout=300)
    assert (told.returncode, told.stderr) == (0, b"")


def test_what_needs_torch_says_how_to_install_it_where_it_is_not(options):
    commands = {
        "demo, which trains networks": ["demo", "--out", options["--out"]],
        "--test, which trains networks": a_run(options | {"--test": options["--private"]}),
        "encoder resnet18": ["fetch-encoder", "resnet18"],
        "--local, which runs": ["prompts", "--domain", "x", "--labels", "a,b", "--local", "nowhere"],
    }
    for what, command in commands.items():
        done = run_without_torch(*command)
        assert done.returncode == 8, done.stderr
        assert done.stderr.startswith(f"error: {what}")
        assert "needs torch, which is not installed: pip install 'pcevolve[torch]'" in done.stderr


def test_runs_are_compared_without_torch(tmp_path):
    done = run_without_torch("compare", tmp_path)
    assert (done.returncode, "no transcript" in done.stderr) == (2, True), done.stderr


def test_private_images_are_read_before_the_encoder_is_loaded(options, tmp_path):
    [(code, said, loaded)] = run_to_end(a_run(options), together=True)
    assert code == 3
    assert "class 'cut' is empty" in said
    assert "torch" not in loaded
    assert not (tmp_path / "out").exists()
