"""The list of commands; a command's module is imported when it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from pcevolve.app.cli.help import HELP, GroupWithHeadings, Rows, make_command, make_flag
from pcevolve.errors import ClientError, StoppedError, printable
from pcevolve.public.processes.confinement import REQUIRE, REQUIRE_VARIABLE
from pcevolve_shared.quiet import keep_quiet

SUMMARY = (
    "Turn a few private images per class into a synthetic dataset with somebody else's generative model, without "
    "sending a private image."
)
COMMANDS = {
    "run": (
        "pcevolve.app.cli.run:run",
        "Make a synthetic dataset under differential privacy, and print what it cost.",
    ),
    "preview": (
        "pcevolve.app.cli.run:preview",
        "Show what the provider draws for your classes, before any privacy budget is spent.",
    ),
    "keeper": (
        "pcevolve.app.cli.run:keeper",
        "Hold the private data of one run in a container without a network, and serve a client in "
        "another container.",
    ),
    "demo": (
        "pcevolve.app.cli.run:demo",
        "Run a demonstration on this machine: an API server in its own process, and a client that uses "
        "it over HTTP.",
    ),
    "doctor": (
        "pcevolve.app.cli.first:doctor",
        "Check versions, encoder, ledger, disk and API, and print what is missing.",
    ),
    "init": (
        "pcevolve.app.cli.first:init",
        "Write pcevolve.toml with the most common options and an explanation of each.",
    ),
    "check": (
        "pcevolve.app.cli.first:check",
        "Check private data before a run: formats, duplicates, privacy units, and what a run would refuse.",
    ),
    "audit": (
        "pcevolve.app.cli.audit:audit",
        "Check from the record that nothing was sent without a reason, and that the dataset follows from "
        "the record.",
    ),
    "audit-dp": (
        "pcevolve.app.cli.audit_dp:audit_dp",
        "Try to tell two neighbouring datasets apart by a method's releases, as an attacker would.",
    ),
    "budget": (
        "pcevolve.app.cli.budget:budget",
        "Show what a run would cost, what earlier runs spent, and on which data.",
    ),
    "clinics": (
        "pcevolve.app.cli.clinics:clinics",
        "Make keys and check rosters for runs in which several data owners make one joint release.",
    ),
    "join": (
        "pcevolve.app.cli.clinics:join",
        "Take part with your own private data in a run of several data owners.",
    ),
    "classify": (
        "pcevolve.app.cli.finished:classify",
        "Classify images or texts with the class means that a run released.",
    ),
    "compare": (
        "pcevolve.app.cli.finished:compare",
        "Compare the cost of finished runs, the usefulness of their datasets, and the accuracy of "
        "classifiers.",
    ),
    "evaluate": (
        "pcevolve.app.cli.finished:evaluate",
        "Train classifiers on a finished run's dataset and test them on your own data. Nothing is sent "
        "or spent.",
    ),
    "export": (
        "pcevolve.app.cli.finished:export",
        "Also write the dataset of a finished run as Parquet, WebDataset, JSON lines or CSV.",
    ),
    "fetch-encoder": (
        "pcevolve.app.cli.first:fetch_encoder",
        "Download an encoder's published weights.",
    ),
    "pack": (
        "pcevolve.app.cli.audit:pack",
        "Write the shareable part of a finished run, and nothing else, to a zip file that can be audited "
        "when unzipped.",
    ),
    "plan": (
        "pcevolve.app.cli.finished:plan",
        "Show all public facts about a run: what it sends, its privacy guarantee, its prompts and its "
        "settings.",
    ),
    "prompts": (
        "pcevolve.app.cli.first:prompts",
        "Write a file of several prompts per class, with a grammar or a language model.",
    ),
    "status": (
        "pcevolve.app.cli.status:status",
        "List the runs in the ledger: how far each has got, what it has spent, and how to continue an "
        "unfinished one.",
    ),
    "report": (
        "pcevolve.app.cli.finished:report",
        "Write the report of a finished run again, as this version of pcevolve would write it.",
    ),
}
"""Each command's module, and the first sentence of its help."""


class Commands(GroupWithHeadings):
    """All commands. Listing them imports none of their modules, some of which take seconds to import."""

    def invoke(self, ctx: click.Context) -> object:
        """Execute a command; raise ``StoppedError`` if a person stops it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise StoppedError("stopped") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by name, or suggest a similar name; click alone sees only imported commands."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none with that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        found = getattr(import_module(module), function)
        return found if isinstance(found, click.Command) else make_command(cmd_name, found)

    def summaries(self, ctx: click.Context) -> Rows:
        """Return each command's name and summary."""
        return [(name, summary) for name, (_, summary) in COMMANDS.items()]


def _print_version() -> None:
    from pcevolve import __version__

    click.echo(__version__)


_REQUIRE_CONFINEMENT = click.Option(
    [REQUIRE],
    is_flag=True,
    expose_value=False,  # ``main`` has already read the option
    help="Stop unless the kernel enforces two rules: a command that needs no network has none, and no "
    "process of a run can use both private files and the network. This option may be given "
    f"anywhere. {REQUIRE_VARIABLE}=1 sets it for every command.",
)
app = Commands(
    "pcevolve",
    help=SUMMARY,
    params=[make_flag("--version", "Print the version.", _print_version), _REQUIRE_CONFINEMENT],
    no_args_is_help=True,
    context_settings=HELP,
)


def carry_out(command: click.Command, arguments: Sequence[str] | None = None) -> None:
    """Run a command; print every expected error as one line on stderr, and exit with the error's code."""
    # Otherwise torch's threads spin while they wait, which on a shared machine costs more than the work
    # itself.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    keep_quiet()
    try:
        command(arguments)
    except StoppedError as stopped:
        for line in stopped.lines:
            print(printable(line), file=sys.stderr)
        sys.exit(stopped.exit_code)
    except ClientError as error:
        if not error.is_reported:
            print(f"error: {printable(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:  # such as a full disk, or a folder without write permission
        running = (sys.argv[1:] if arguments is None else arguments)[:1] == ["run"]
        hint = "; everything paid for is on record: continue with --resume RUN" if running else ""
        print(f"error: {error}{hint}", file=sys.stderr)
        sys.exit(1)
