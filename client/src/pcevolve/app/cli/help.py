"""Commands and groups, and their help pages: usage, description, and options under headings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import click

from pcevolve.app.cli.parameters import (
    ARGUMENTS,
    OPTIONS,
    Function,
    HeadedOption,
    HelpedArgument,
    list_parameters,
    make_callback,
)
from pcevolve.errors import UsageError
from pcevolve.public.config.table import run_options

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
"""Settings of a command: both help flags, and a page up to 120 columns wide."""
Rows: TypeAlias = Iterable[tuple[str, str]]


class CommandWithHeadings(click.Command):
    """A command whose options are listed under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line; for an option without a flag, name the right form (``UsageError``)."""
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
            places = [each.make_metavar(ctx) for each in self.params if isinstance(each, click.Argument)]
            if places and "--private" in strange:
                raise UsageError(
                    "--private is not an option of this command: give the private data as "
                    f"the argument {places[0]}"
                )
            for word in filter(typed.__contains__, strange):
                raise UsageError(
                    f"{word} is not an option: give --set {typed[word]}, or set it in a --config file"
                )
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page: usage, description, options by heading."""
        _write_page(formatter, self.get_usage(ctx), self.help, _list_rows(self, ctx))


class GroupWithHeadings(click.Group):
    """A group of commands; its help has one line for each command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order in which they were added."""
        return list(self.commands)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page: usage, description, options, commands."""
        headings = {**_list_rows(self, ctx), "Commands": [*self.summaries(ctx)]}
        _write_page(formatter, self.get_usage(ctx), self.help, headings)

    def summaries(self, ctx: click.Context) -> Rows:
        """Return each command's name and summary."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                yield name, (command.help or "").split("\n\n")[0]

    def takes_command(self, name: str) -> Callable[[Function], Function]:
        """Add a function as a command of this name; the function itself is unchanged."""

        def add(function: Function) -> Function:
            self.add_command(make_command(name, function))
            return function

        return add


def make_command(name: str, function: Function) -> click.Command:
    """Return a command for a function, made from its signature and docstring."""
    return CommandWithHeadings(
        name,
        callback=make_callback(function),
        params=list_parameters(function),
        help=function.__doc__,
        context_settings=HELP,
    )


def make_flag(flag: str, words: str, show: Callable[[], None]) -> click.Option:
    """Return an option that prints something instead of running a command."""

    def act(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            show()
            context.exit()

    return click.Option([flag], is_flag=True, is_eager=True, expose_value=False, help=words, callback=act)


def _list_rows(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        if isinstance(parameter, HelpedArgument):
            found.setdefault(ARGUMENTS, []).append((parameter.make_metavar(ctx), parameter.help))
        elif (row := parameter.get_help_record(ctx)) is not None:
            heading = parameter.heading if isinstance(parameter, HeadedOption) else OPTIONS
            found.setdefault(heading, []).append(row)
    return found


def _write_page(
    formatter: click.HelpFormatter, usage: str, text: str | None, headings: Mapping[str, Rows]
) -> None:
    formatter.write_text("\n\n".join([usage, *inspect.cleandoc(text or "").split("\n\n")]))
    for heading, rows in headings.items():
        with formatter.section(heading):
            formatter.write_dl([(name, " ".join(words.split())) for name, words in rows])
