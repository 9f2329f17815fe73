"""The command line's entry: which commands there are, and what they are for."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pcevolve import __version__
from pcevolve.app.cli.commands import carry_out
from pcevolve.app.cli.help import HELP, GroupWithHeadings, make_command, make_flag
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


def _print_version() -> None:
    click.echo(__version__)


app = GroupWithHeadings(
    "pcevolve-bench",
    commands=[
        make_command("table", table),
        make_command("baseline", baseline),
        make_command("datasets", datasets),
        make_command("limits", limits),
    ],
    help=SUMMARY,
    params=[
        make_flag("--version", "Print the version.", _print_version),
        make_flag("--list", "All tables and figures, as table --list.", print_list),
    ],
    no_args_is_help=True,
    context_settings=HELP,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected error is one line on stderr and an exit code."""
    carry_out(app, arguments)
