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
        "Evolve a synthetic dataset under differential privacy and print what it cost.",
    ),
    "preview": (
        "pcevolve.app.cli.run:preview",
        "Show what the provider draws for your classes, before anything is spent; run --resume goes on from there.",
    ),
    "keeper": (
        "pcevolve.app.cli.run:keeper",
        "Hold the private data of one run, in a container without network, and serve a client in another container.",
    ),
    "demo": (
        "pcevolve.app.cli.run:demo",
        "Run everything end to end on this machine: an API server in its own process, and a client over HTTP.",
    ),
    "doctor": (
        "pcevolve.app.cli.first:doctor",
        "Check versions, encoder, ledger, disk and API, and say what is missing; exit code 1 if anything is.",
    ),
    "init": (
        "pcevolve.app.cli.first:init",
        "Write pcevolve.toml with the options that people change first, and what each is for.",
    ),
    "check": (
        "pcevolve.app.cli.first:check",
        "Look at private images before a run: formats, duplicates, units, what would be refused, and how to fix it.",
    ),
    "audit": (
        "pcevolve.app.cli.audit:audit",
        "Check from the record alone that nothing was sent without a reason, and that the dataset follows from the "
        "record.",
    ),
    "audit-dp": (
        "pcevolve.app.cli.audit_dp:audit_dp",
        "Try to tell two neighbouring datasets apart by what a method releases; exit 1 if it leaks more than it "
        "claims.",
    ),
    "budget": (
        "pcevolve.app.cli.budget:budget",
        "Show what a run would cost, what was spent, and on which data.",
    ),
    "clinics": (
        "pcevolve.app.cli.clinics:clinics",
        "Keys and rosters for runs in which several owners of private data make one summed release.",
    ),
    "join": (
        "pcevolve.app.cli.clinics:join",
        "Take part in a run of several owners with private data of your own; it makes outgoing "
        "connections only.",
    ),
    "classify": (
        "pcevolve.app.cli.finished:classify",
        "Classify images or texts by the class means that a run released.",
    ),
    "compare": (
        "pcevolve.app.cli.finished:compare",
        "Compare finished runs: what each cost, whether its dataset is useful, and how accurate classifiers trained "
        "on it were.",
    ),
    "evaluate": (
        "pcevolve.app.cli.finished:evaluate",
        "Train classifiers on a finished run's dataset and test them on data of your own; nothing is sent or spent.",
    ),
    "export": (
        "pcevolve.app.cli.finished:export",
        "Write the dataset of a finished run as Parquet, WebDataset, JSON lines or CSV beside its files.",
    ),
    "fetch-encoder": (
        "pcevolve.app.cli.first:fetch_encoder",
        "Download an encoder's published weights; a run itself talks to the configured API and to nobody else.",
    ),
    "pack": (
        "pcevolve.app.cli.audit:pack",
        "Write the shareable part of a finished run, and nothing else, as a zip that can be audited once "
        "it is unzipped.",
    ),
    "plan": (
        "pcevolve.app.cli.finished:plan",
        "Show everything about a run that is public: what it sends and promises, its prompts and settings.",
    ),
    "prompts": (
        "pcevolve.app.cli.first:prompts",
        "Write several prompts for each class, for a run's provider.prompts: by a grammar, or by a language model.",
    ),
    "status": (
        "pcevolve.app.cli.status:status",
        "List the runs in the ledger: how far each is, what it has spent, and how to continue an "
        "unfinished one.",
    ),
    "report": (
        "pcevolve.app.cli.finished:report",
        "Write the report of a finished run again, in this version's wording.",
    ),
}
"""The module of each command, and the first sentence of its help."""


class Commands(GroupWithHeadings):
    """All commands. Listing them imports none of their modules, some of which take seconds."""

    def invoke(self, ctx: click.Context) -> object:
        """Carry out a command. ``StoppedError``: a person stopped it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise StoppedError("stopped") from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by name, or suggest a similar one: click itself knows only imported commands."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
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
    expose_value=False,  # the entry has read it
    help="Refuse to go on unless the kernel enforces that a command that needs no network has none, and that no "
    f"process of a run has both private files and the network. May be given anywhere; {REQUIRE_VARIABLE}=1 "
    "sets it for every command.",
)
app = Commands(
    "pcevolve",
    help=SUMMARY,
    params=[make_flag("--version", "Print the version.", _print_version), _REQUIRE_CONFINEMENT],
    no_args_is_help=True,
    context_settings=HELP,
)


def carry_out(command: click.Command, arguments: Sequence[str] | None = None) -> None:
    """Run a command; print every expected error as one line on stderr, and exit with its code."""
    # Otherwise Torch's threads spin while they wait for each other; on a shared machine this costs more than
    # the work.
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
    except OSError as error:  # a full disk, a folder that may not be written
        running = (sys.argv[1:] if arguments is None else arguments)[:1] == ["run"]
        hint = "; what was paid for is on record, continue with --resume RUN" if running else ""
        print(f"error: {error}{hint}", file=sys.stderr)
        sys.exit(1)
