"""The command line's entry: which commands there are, and what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pcevolve import __version__
from pcevolve.cli.commands import carry_out
from pcevolve.cli.help import HELP, CommandWithHeadings, GroupWithHeadings
from pcevolve_benchmarks.cli.baseline import baseline
from pcevolve_benchmarks.cli.datasets import datasets
from pcevolve_benchmarks.cli.limits import limits
from pcevolve_benchmarks.cli.table import print_list, table

SUMMARY = """Make the tables of the papers, and run what they compare with, on public research data.

To see that everything works: pcevolve-bench table table1 --smoke takes minutes and needs nothing but this machine.
Tables of the papers' sizes take hours, and an image API worth measuring (--api). The papers' datasets are not
downloaded: pcevolve-bench datasets says where each comes from and makes folders of it.

Nothing here is for private data: dozens of runs on the same images promise nothing together, and baselines run without
a gate: whatever they hand to the API leaves."""

app = typer.Typer(
    name="pcevolve-bench",
    cls=GroupWithHeadings,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)
app.command("table", cls=CommandWithHeadings)(table)
app.command("baseline", cls=CommandWithHeadings)(baseline)
app.command("datasets", cls=CommandWithHeadings)(datasets)
app.command("limits", cls=CommandWithHeadings)(limits)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _print_list(wanted: bool) -> None:
    if wanted:
        print_list()
        raise typer.Exit


@app.callback(help=SUMMARY)
def pcevolve_bench(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    _listed: Annotated[
        bool,
        typer.Option(
            "--list", callback=_print_list, is_eager=True, help="All tables and figures, as table --list."
        ),
    ] = False,
) -> None:
    """Take what stands before the commands."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected error is one line on stderr and an exit code."""
    carry_out(app, arguments)
