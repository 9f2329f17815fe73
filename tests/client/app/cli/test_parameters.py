"""What a function's signature becomes on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import pytest
from click.testing import CliRunner

from pcevolve.app.cli.commands import COMMANDS, app
from pcevolve.app.cli.help import make_command
from pcevolve.app.cli.parameters import Flag, PositionalArgument

CALLS: list[dict[str, object]] = []


def greet(
    context: click.Context,
    name: Annotated[str, PositionalArgument("NAME", "Whom.")],
    files: Annotated[list[Path], PositionalArgument("FILES", "What to bring.")],
    *,
    loud: Annotated[bool, Flag(help="Shout.")] = False,
    often: Annotated[int, Flag(min=1, max=3, help="How many times.")] = 2,
    word: Annotated[list[str] | None, Flag(("--say", "-s"), help="A word.")] = None,
    into: Annotated[Path | None, Flag(help="Where to.", heading="Elsewhere")] = None,
) -> None:
    """Greet somebody."""
    CALLS.append({**locals(), "context": context.info_name})


def call(*words: str) -> tuple[int, str]:
    CALLS.clear()
    done = CliRunner().invoke(make_command("greet", greet), words)
    return done.exit_code, done.output


def test_what_is_typed_arrives_as_the_types_that_are_annotated():
    assert call(
        "Ada", "a.txt", "b.txt", "--loud", "--often", "3", "-s", "hi", "--say", "ho", "--into", "x"
    ) == (0, "")
    assert [
        {
            "context": "greet",
            "name": "Ada",
            "files": [Path("a.txt"), Path("b.txt")],
            "loud": True,
            "often": 3,
            "word": ["hi", "ho"],
            "into": Path("x"),
        }
    ] == CALLS


def test_what_is_not_typed_is_as_the_signature_says():
    assert call("Ada", "a.txt") == (0, "")
    assert CALLS[0].items() >= {"loud": False, "often": 2, "word": [], "into": None}.items()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "Missing argument 'NAME'"),
        (("Ada",), "Missing argument 'FILES...'"),
        (("Ada", "a", "--often", "4"), "4 is not in the range 1<=x<=3"),
        (("Ada", "a", "--often", "x"), "'x' is not a valid integer"),
        (("Ada", "a", "--quiet"), "No such option '--quiet'"),
    ],
)
def test_what_is_wrong_is_told_with_exit_code_2(words, complaint):
    code, output = call(*words)
    assert (code, CALLS) == (2, [])
    assert complaint in output


def test_help_tells_what_each_parameter_takes_and_its_default():
    page = " ".join(call("--help")[1].split())
    for each in (
        "Usage: greet [OPTIONS] NAME FILES... Greet somebody. Arguments: NAME Whom. FILES... What to bring.",
        "Options: --loud Shout. --often INT How many times. [default: 2; 1<=x<=3] -s, --say TEXT A word.",
        "Elsewhere: --into PATH Where to.",
    ):
        assert each in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_without_what_it_needs_says_so(name):
    command = app.get_command(click.Context(app), name)
    needed = [each for each in command.params if each.required] if command is not None else []
    if needed:
        done = CliRunner().invoke(app, [name])
        assert done.exit_code == 2
        assert "Missing " in done.output
