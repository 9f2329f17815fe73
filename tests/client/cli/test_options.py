"""The command line is what the options' declarations say, and so is the page about it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pcevolve.cli.audit_dp import AuditedClaim
from pcevolve.cli.main import COMMANDS, app, main
from pcevolve.cli.reference import keywords, reference
from pcevolve.config.config import RunConfig
from pcevolve.config.sources import gather, parse_set
from pcevolve.encoders import ENCODERS
from pcevolve.errors import UsageError
from pcevolve.public.options import options_of
from pcevolve.selectors import METHODS
from pcevolve.session.first.pricing import PlannedRun

ROOT = Path(__file__).parents[3]
OWN = {"--dashboard", "--resume", "--config", "--set", "--verbose", "-v", "--json"}
MOST = 25
"""Options that a help page may have."""


@pytest.fixture
def command():
    """A command by its name, as typer made it."""
    return lambda name: typer.main.get_command(app).get_command(None, name)


def shown(*arguments: str) -> str:
    """A help page in one line, without what frames it."""
    result = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.replace("│", " ").split())


def test_the_page_about_options_is_what_their_declarations_say():
    assert (ROOT / "docs" / "options.md").read_text() == reference(), "make docs-options writes it"
    of_python = ROOT / "client" / "src" / "pcevolve" / "interface" / "options.py"
    assert of_python.read_text() == keywords(), "make docs-options writes it"


def test_a_run_has_the_most_used_options_and_some_of_the_command(command):
    flags = {flag for parameter in command("run").params for flag in parameter.opts}
    assert flags == {f"--{name.replace('_', '-')}" for name in RunConfig.MOST_USED} | OWN
    assert len(command("run").params) <= MOST, "--help among them"
    assert {option.name for option in options_of(RunConfig)} > {*RunConfig.MOST_USED}


def test_the_most_used_options_stand_under_their_sections_in_the_order_of_a_file():
    page = shown("run")
    sections = [name.capitalize() for name in RunConfig.model_fields]
    places = [page.index(f"─ {section} ─") for section in sections]
    assert places == sorted(places)


def test_every_command_and_group_answers_to_both_ways_of_asking_for_help():
    for arguments in ((), *((name,) for name in COMMANDS), ("budget", "show")):
        pages = [CliRunner().invoke(app, [*arguments, flag]).output for flag in ("-h", "--help")]
        assert pages[0] == pages[1]
        assert "Usage: " in pages[0]


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
    environment = {**os.environ, "_PCEVOLVE_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    environment["COMP_CWORD"] = str(len(typed.split()) - 1)
    command = [Path(sys.executable).parent / "pcevolve"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == offered


def test_a_required_option_that_is_missing_is_told_in_a_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--epsilon", "3"])
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err == "error: --private and --domain and --out must be given: --help says more\n"
    )


def test_a_file_gives_options_of_every_kind_and_the_environment_set_and_flags_win_in_this_order(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(
        '[data]\ndomain = "scratch"\nshots = 7\nunlabelled = false\nunit_map = "units.csv"\n'
        "[privacy]\nepsilon = 3\nforget-insecure = true\n[method]\nname = 'pe'\ncandidates = 40\nvotes = 2\n"
        '[provider]\nguidance = 2.5\nsteps = 9\nimage-hosts = ["a.example", "b.example"]\n'
    )
    monkeypatch.setenv("PCEVOLVE_METHOD__VOTES", "3")
    monkeypatch.setenv("PCEVOLVE_METHOD__CANDIDATES", "30")
    monkeypatch.setenv("PCEVOLVE_PROVIDER__STEPS", "")
    monkeypatch.setenv("PCEVOLVE_METHOD__STRENGTHS", "[0.5, 0.25]")
    said = ["method.candidates=20", "data.shots=6", "output.formats=parquet,webdataset", "provider.guidance="]
    asked = gather(RunConfig, {"private": "scans", "out": "run", "shots": "5"}, said, tmp_path / "run.toml")
    settings = RunConfig.of(asked.values)
    assert (settings.data.domain, settings.privacy.epsilon, settings.method.candidates) == (
        "scratch",
        "3",
        20,
    )
    assert (settings.provider.guidance, settings.provider.steps, settings.data.shots) == (2.5, 9, 5)
    assert (settings.data.unit_map, settings.get("votes")) == (tmp_path / "units.csv", 3)
    assert (settings.privacy.forget_insecure, settings.data.unlabelled) == (True, False)
    assert settings.provider.image_hosts == ("a.example", "b.example")
    assert (settings.method.strengths, settings.output.formats) == ((0.5, 0.25), ("parquet", "webdataset"))


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
def test_a_wrong_key_is_told_with_the_one_that_may_be_meant(capsys, said, told):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--private", "digits", "--domain", "x", "--out", "nowhere", "--set", said])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {told}")


def test_a_wrong_variable_of_the_environment_is_told(capsys, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_PRIVACY__EPSILN", "1")
    with pytest.raises(SystemExit):
        main(["run", "--private", "digits", "--domain", "x", "--out", "nowhere"])
    said = "PCEVOLVE_PRIVACY__EPSILN in the environment: there is no option 'privacy.epsiln'; did you mean"
    assert capsys.readouterr().err.startswith(f"error: {said} privacy.epsilon?")


def test_an_option_without_a_flag_is_told_how_it_is_given(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--lookahead", "2"])
    assert ended.value.code == 2
    said = "--lookahead has no flag here: give it as --set method.lookahead=VALUE, or in a file"
    assert capsys.readouterr().err == f"error: {said}\n"


def test_of_what_is_given_twice_the_last_wins_but_no_part_of_a_list_is_lost():
    asked = gather(RunConfig, {}, ["privacy.delta=1e-6", "privacy.delta=1e-7"])
    assert asked.values == {"delta": "1e-7"}
    with pytest.raises(UsageError, match=r"--set method.strengths is given twice"):
        gather(RunConfig, {}, ["method.strengths=0.8", "method.strengths=0.6"])


def test_a_value_may_have_a_comma_or_an_equals_sign_in_it():
    assert parse_set('method.secret_columns=["a, b", "c"]', RunConfig)[1] == ["a, b", "c"]
    assert parse_set("provider.prompt_template=a = {label}, b", RunConfig)[1] == "a = {label}, b"


def test_help_tells_of_every_option_what_it_is_for_its_default_and_its_bounds():
    page = shown("run")
    for option in options_of(RunConfig):
        if option.name in RunConfig.MOST_USED:
            assert f"{option.flag} " in page
            assert " ".join(option.help.split()[:5]) in page
    assert "Synthetic images per class, N. [default: 100; 1<=x<=1000000]" in page


@pytest.mark.parametrize(("option", "names"), [("method", METHODS), ("encoder", ENCODERS)])
def test_help_names_every_choice(option, names):
    (declared,) = (each for each in options_of(RunConfig) if each.name == option)
    assert set(names) <= set(re.findall(r"[\w+-]+", declared.help))


@pytest.mark.parametrize("model", [PlannedRun, AuditedClaim])
def test_what_other_commands_share_with_a_run_is_declared_once(model):
    of_runs = {option.name: option for option in options_of(RunConfig)}
    shared = [option for option in options_of(model) if option.name in of_runs]
    own = {
        "method",
        "epsilon",
        "seed",
    }  # a method or a budget to ask about, a seed of noise: not those of a run
    assert {option.name for option in shared} >= {"delta", "relation"}
    for option in shared:
        if option.name not in own:
            assert (option.help, option.bounds, option.kind) == (
                of_runs[option.name].help,
                of_runs[option.name].bounds,
                of_runs[option.name].kind,
            )


def test_the_list_of_commands_says_what_each_command_says_of_itself(command):
    for name, (_, summary) in COMMANDS.items():
        assert " ".join(command(name).help.split()).startswith(summary), name
        assert " ".join(summary.split()) in shown()
