"""Help pages: usage, what a command does, and its options under their headings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from typer.core import TyperCommand, TyperGroup

from pcevolve.config.table import run_options
from pcevolve.errors import UsageError

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
"""Settings of a command that can be asked for help in both ways, and shows it as wide as can be read."""
OPTIONS = "Options"
ARGUMENTS = "Arguments"
COMMANDS = "Commands"
VALUES = {
    "<list[str]>": "TEXT",
    "<list[Path]>": "PATH",
    "<str>": "TEXT",
    "<path>": "PATH",
    "<int>": "INT",
    "<int range>": "INT",
    "<float>": "NUMBER",
    "<float range>": "NUMBER",
}
"""What an option takes, by typer's name for it; as those of a run are shown."""
Rows: TypeAlias = Iterable[tuple[str, str]]
Context: TypeAlias = Any
"""Typer's, with the classes that it does not export."""


class CommandWithHeadings(TyperCommand):
    """A command whose options stand under their headings."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the words of a command line; an option that has no flag is told how it is given (``UsageError``)."""
        known = {flag for each in self.params for flag in each.opts}
        strange = [
            word
            for word in (each.partition("=")[0] for each in args)
            if word[:2] == "--" and word not in known
        ]
        if "--set" in known and strange:
            options = run_options()
            typed = {each.flag: f"{each.path}=VALUE" for each in options}
            typed |= {f"--no-{each.flag[2:]}": f"{each.path}=false" for each in options if each.is_switch}
            for word in filter(typed.__contains__, strange):
                raise UsageError(f"{word} has no flag here: give it as --set {typed[word]}, or in a file")
        return super().parse_args(ctx, args)

    def get_usage(self, ctx: Context) -> str:
        """Return how it is typed, in a line."""
        return _spell_usage(super().get_usage(ctx))

    def format_help(self, ctx: Context, formatter: Context) -> None:
        """Write the page: usage, what the command does, its options by heading."""
        _write_page(formatter, self.get_usage(ctx), self.help, _list_rows(self, ctx))


class GroupWithHeadings(TyperGroup):
    """A group of commands with a line for each."""

    def format_help(self, ctx: Context, formatter: Context) -> None:
        """Write the page: usage, what the group is, its options, its commands."""
        headings = {**_list_rows(self, ctx), COMMANDS: [*self.summaries(ctx)]}
        _write_page(formatter, self.get_usage(ctx), self.help, headings)

    def summaries(self, ctx: Context) -> Rows:
        """Each command's name and what it does, in a line."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                yield name, (command.help or "").split("\n\n")[0]


def _list_rows(command: TyperCommand | TyperGroup, ctx: Context) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        row = parameter.get_help_record(ctx)
        usual = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
        if row is not None:
            heading = getattr(parameter, "rich_help_panel", None) or usual
            found.setdefault(heading, []).append((_name_values(row[0]), row[1]))
    return found


def _name_values(words: str) -> str:
    """Words of an option or argument with what it takes in capitals."""
    for name, shown in VALUES.items():
        words = words.replace(name, shown)
    return words


def _spell_usage(usage: str) -> str:
    """Typer's usage line with brackets for what may be left out alone."""
    return usage.translate({ord("{"): None, ord("}"): None}).replace("[[", "[").replace("]]", "]")


def _write_page(formatter: Context, usage: str, text: str | None, headings: Mapping[str, Rows]) -> None:
    for paragraph in (usage, *(text or "").split("\n\n")):
        formatter.write_text(" ".join(paragraph.split()))
        formatter.write_paragraph()
    for heading, rows in headings.items():
        with formatter.section(heading):
            formatter.write_dl([(name, " ".join(words.split())) for name, words in rows])
