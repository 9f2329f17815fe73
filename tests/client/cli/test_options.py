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
from pcevolve.cli.options import given
from pcevolve.cli.reference import reference
from pcevolve.encoders import ENCODERS
from pcevolve.providers import DIALECTS
from pcevolve.public.options import Panel, options_of
from pcevolve.selectors import METHODS
from pcevolve.session.first.pricing import PlannedRun
from pcevolve.session.settings import RunSettings

ROOT = Path(__file__).parents[3]
OWN = {"--dashboard", "--resume", "--config", "--json"}


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


def test_a_run_has_the_declared_options_and_four_of_the_command(command):
    flags = {flag for parameter in command("run").params for flag in parameter.opts}
    assert flags == {option.flag for option in options_of(RunSettings)} | OWN


def test_the_ten_most_used_options_come_first():
    options = options_of(RunSettings)
    assert [each.setting.panel for each in options].count(Panel.MOST_USED) == 10
    page = shown("run")
    places = [page.index(f"─ {panel.value} ─") for panel in Panel]
    assert places == sorted(places)
    assert all(page.index(f"{each.flag} ") < places[1] for each in options[:10])


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
        ("pcevolve run --relation a", ["add-remove"]),
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
        capsys.readouterr().err == "error: --private and --out and --domain must be given: --help says more\n"
    )


def test_a_configuration_file_gives_options_of_every_kind_and_flags_win(command, tmp_path):
    (tmp_path / "run.toml").write_text(
        'domain = "scratch"\nepsilon = 3\ncandidates = 40\nguidance = 2.5\nshots = 7\nforget-insecure = true\n'
        'unlabelled = false\nimage-hosts = ["a.example", "b.example"]\nunit_map = "units.csv"\n'
    )
    arguments = ["--private", "scans", "--out", "run", "--shots", "5", "--config", str(tmp_path / "run.toml")]
    with command("run").make_context(
        "run", arguments
    ) as context:  # closed, it tells no later test what was typed
        found = context.params
    settings = RunSettings.of(given({name: found[name] for name in RunSettings.model_fields}))
    assert (settings.domain, settings.epsilon, settings.candidates) == ("scratch", "3", 40)
    assert (settings.guidance, settings.shots, settings.unit_map) == (2.5, 5, Path("units.csv").absolute())
    assert (settings.forget_insecure, settings.unlabelled) == (True, False)
    assert settings.image_hosts == ("a.example", "b.example")


def test_what_nobody_gave_is_left_to_its_default(command):
    found = (
        command("run")
        .make_context("run", ["--private", "scans", "--out", "run", "--domain", "scratch"])
        .params
    )
    assert set(given({name: found[name] for name in RunSettings.model_fields})) == {
        "private",
        "out",
        "domain",
    }


def test_help_tells_of_every_option_what_it_is_for_its_default_and_its_bounds():
    page = shown("run")
    for option in options_of(RunSettings):
        assert f"{option.flag} " in page
        assert " ".join(option.help.split()[:5]) in page
    assert "Synthetic images per class, N. [default: 100; 1<=x<=1000000]" in page


@pytest.mark.parametrize(
    ("option", "names"), [("method", METHODS), ("dialect", DIALECTS), ("encoder", ENCODERS)]
)
def test_help_names_every_choice(option, names):
    (declared,) = (each for each in options_of(RunSettings) if each.name == option)
    assert set(names) <= set(re.findall(r"[\w+-]+", declared.help))


@pytest.mark.parametrize("model", [PlannedRun, AuditedClaim])
def test_what_other_commands_share_with_a_run_is_declared_once(model):
    of_runs = {option.name: option for option in options_of(RunSettings)}
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
