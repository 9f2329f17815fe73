"""Help pages: one panel for each heading, drawn with as little of rich as that takes, so that they come at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from pcevolve.errors import UsageError

HELP = {"help_option_names": ["-h", "--help"]}
"""Settings of a command that can be asked for help in both ways."""
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


class CommandWithPanels(TyperCommand):
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
            from pcevolve.config.config import RunConfig  # takes a moment to load
            from pcevolve.public.options import list_options

            options = list(list_options(RunConfig))
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
        formatter.write(_page(self.get_usage(ctx), self.help, _panels(self, ctx)))


class GroupWithPanels(TyperGroup):
    """A group of commands with a line for each."""

    def format_help(self, ctx: Context, formatter: Context) -> None:
        """Write the page: usage, what the group is, its options, its commands."""
        panels = {**_panels(self, ctx), COMMANDS: [*self.summaries(ctx)]}
        formatter.write(_page(self.get_usage(ctx), self.help, panels))

    def summaries(self, ctx: Context) -> Rows:
        """Each command's name and what it does, in a line."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                yield name, (command.help or "").split("\n\n")[0]


def _panels(command: TyperCommand | TyperGroup, ctx: Context) -> dict[str, list[tuple[str, str]]]:
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


def _page(usage: str, text: str | None, panels: Mapping[str, Rows]) -> str:
    """The whole page as text for the terminal that it is printed on."""
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as page:
        console.print(Padding(Text(usage, "bold"), 1))
        for paragraph in (text or "").split("\n\n"):
            console.print(Padding(Text(" ".join(paragraph.split())), (0, 1, 1, 1)))
        for heading, rows in panels.items():
            console.print(Panel(_table(rows), title=heading, title_align="left", border_style="dim"))
    return page.get()


def _table(rows: Rows) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan")
    table.add_column(ratio=1, overflow="fold")
    table.expand = True
    for name, text in rows:
        table.add_row(Text(name), Text(" ".join(text.split())))
    return table
