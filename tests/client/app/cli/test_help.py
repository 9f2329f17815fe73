"""Help pages."""

from __future__ import annotations

import re

from click.testing import CliRunner

from pcevolve.app.cli.commands import COMMANDS, app
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options


def test_help_tells_of_every_option_what_it_is_for_its_default_and_its_bounds():
    shown = CliRunner().invoke(app, ["run", "--help"], terminal_width=120).output
    page = " ".join(shown.split())
    for option in list_options(RunConfig):
        if option.name in RunConfig.MOST_USED:
            assert f"{option.flag} " in page
            assert " ".join(option.help.split()[:5]) in page
    assert "Number of synthetic images per class, N. [default: 100; 1<=x<=1000000]" in page


def test_every_command_and_group_answers_to_both_ways_of_asking_for_help():
    for arguments in ((), *((name,) for name in COMMANDS), ("budget", "show")):
        pages = [CliRunner().invoke(app, [*arguments, flag]).output for flag in ("-h", "--help")]
        assert pages[0] == pages[1]
        assert "Usage: " in pages[0]
        assert not re.search(r"<[a-z]|\{|\[\[", pages[0]), "what an option takes is in capitals"


def test_a_command_that_takes_the_private_folder_without_a_flag_says_so(command):
    told = command("check", "--private", "folder")
    assert told.code == 2
    assert (
        "--private is not an option of this command: give the private data as the argument DIR" in told.said
    )
    assert "--set" not in told.said


def test_the_version_is_shown_in_place_of_any_command(command):
    told = command("--version", "run", "--nonsense")
    assert (told.code, told.out.split()[0]) == (0, "0.2.0")
