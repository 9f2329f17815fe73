"""``pcevolve run``, ``preview`` and ``demo``: they turn options into a run, and print its summary or page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from pcevolve.app.cli.options import ConfigFile, Json, Overrides, Verbose, takes
from pcevolve.app.cli.parameters import Flag
from pcevolve.errors import UsageError
from pcevolve.public.config.options import at_door
from pcevolve.public.config.sources import gather
from pcevolve.public.config.table import require_given, run_options
from pcevolve.public.processes.doorway import KEEPER_HAS_REST
from pcevolve.public.processes.launcher import (
    ClientsSide,
    KeepersSide,
    demands,
    sides,
    start_clients_side,
    start_keepers_side,
    take_children,
)

if TYPE_CHECKING:  # pydantic is slow to import, and a refusal should be quick
    from pcevolve.app.session.orders import DoorAddress
    from pcevolve.public.run.checked import CheckedRun

MOST_USED = [each for each in run_options() if each.has_flag]

StartingFrom = Annotated[
    Path | None,
    Flag(
        ("--from",),
        metavar="RUN",
        help=(
            "Make variations of the images that the finished run in this folder released, --candidates "
            "per class. No private data are read and no privacy budget is spent."
        ),
    ),
]


def _ask(
    context: click.Context,
    options: dict[str, object],
    overrides: list[str] | None,
    config: Path | None,
    resume: Path | None = None,
    *,
    may_go_on: bool = False,
    clinics: Path | None = None,
) -> CheckedRun:
    """Turn the typed options into a run request; report errors before further imports."""
    wanted = context.with_resource(gather(options, overrides or (), config))
    if clinics is not None:
        wanted = _add_owners(wanted, clinics)
    if resume is None and "from_run" not in wanted:
        require_given(wanted)
    from pcevolve.app.session.preflight import ask_run

    return ask_run(wanted, resume, may_go_on=may_go_on)


@takes(MOST_USED)
def run(
    context: click.Context,
    *,
    resume: Annotated[
        Path | None,
        Flag(
            ("--resume",),
            metavar="RUN",
            help="Continue the interrupted run in this folder, with the options that it began with; no "
            "other option is needed. If no run has begun in this folder yet, begin one.",
        ),
    ] = None,
    start: StartingFrom = None,
    keeper: Annotated[
        Path | None,
        Flag(
            ("--keeper",),
            metavar="SOCKET",
            help=(
                "Connect to the pcevolve keeper that listens on this socket file, and run as its client "
                "in a container without private files. Give all other options to pcevolve keeper."
            ),
        ),
    ] = None,
    clinics: Annotated[
        Path | None,
        Flag(
            ("--clinics",),
            metavar="ROSTER",
            help="Coordinate a run of the data owners in this roster file. The owners connect with "
            "pcevolve join. The coordinator has no private data; each release is the sum of the "
            "answers of all owners.",
        ),
    ] = None,
    listen: Annotated[
        str,
        Flag(("--listen",), metavar="HOST:PORT", help="With --clinics: address to listen on for the owners."),
    ] = "127.0.0.1:8440",
    certificate: Annotated[
        Path | None,
        Flag(("--certificate",), metavar="FILE", help="With --clinics: PEM file of the TLS certificate."),
    ] = None,
    certificate_key: Annotated[
        Path | None,
        Flag(
            ("--certificate-key",),
            metavar="FILE",
            help="With --clinics: PEM file of the certificate's "
            "private key, if it is not in the "
            "certificate's file.",
        ),
    ] = None,
    config: ConfigFile = None,
    overrides: Overrides = None,
    dashboard: Annotated[
        bool,
        Flag(
            ("--dashboard",),
            help="Print the path of RUN/live.html, which shows the progress of the run, and open it in "
            "the browser.",
        ),
    ] = False,
    verbose: Verbose = False,
    as_json: Json = False,
    **options: object,
) -> None:
    """Make a synthetic dataset under differential privacy, and print what it cost."""
    if keeper is not None:
        if dashboard or any(
            each not in (None, [], ()) for each in (resume, start, config, overrides, *options.values())
        ):
            raise UsageError(KEEPER_HAS_REST)
        _run_at_door(keeper, verbose, as_json)
        return
    request = _ask(context, {**options, "from_run": start}, overrides, config, resume, clinics=clinics)
    door = _find_door(request.settings.data.private, listen, certificate, certificate_key)
    # Imported late: an HTTP client, SciPy, and for accuracies torch take seconds, and nothing above needs
    # them.
    from pcevolve.app.session.staff import carry_out
    from pcevolve.public.run.progress import Audience

    show(carry_out(request, Audience(verbose=verbose), take_children(), dashboard, door), as_json, verbose)


def _add_owners(wanted: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a coordinator's options; the roster sets those about data (``UsageError`` if the user gives any)."""
    from pcevolve.public.clinics.roster import Roster
    from pcevolve.public.config.options import spell_flag

    for name in ("private", "shots", "words"):
        if name in wanted:
            raise UsageError(f"the roster sets {spell_flag(name)}: leave it out")
    roster = Roster.read(path)
    words = {"words": roster.words} if roster.words else {}
    return {**wanted, "private": f"owners:{path}", "shots": roster.clinics.shots, **words}


def _find_door(private: str, listen: str, certificate: Path | None, key: Path | None) -> DoorAddress | None:
    """Return the address where owners connect; None for a run of one owner (``UsageError`` for a bad address)."""
    from pcevolve.app.session.orders import DoorAddress
    from pcevolve.public.config.data_source import find_roster

    if find_roster(private) is None:
        return None
    host, _, port = listen.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
        raise UsageError(f"--listen {listen}: give HOST:PORT, such as 0.0.0.0:8440")
    return DoorAddress(host.strip("[]"), int(port), (certificate, key))


def _run_at_door(socket: Path, verbose: bool, as_json: bool) -> None:
    from pcevolve.app.session.containers import run_at_door
    from pcevolve.public.run.progress import Audience

    side = sides.pop() if sides else start_clients_side(str(socket))
    assert isinstance(side, ClientsSide)
    show(run_at_door(side, Audience(verbose=verbose), is_demanded=any(demands)), as_json, verbose)


@takes(MOST_USED)
def keeper(
    context: click.Context,
    *,
    socket: Annotated[
        Path,
        Flag(
            ("--socket",),
            metavar="FILE",
            help="Socket file to create. One pcevolve run --keeper FILE connects to it.",
        ),
    ],
    resume: Annotated[
        Path | None,
        Flag(
            ("--resume",),
            metavar="RUN",
            help="Continue the interrupted run in this folder. If no run has begun in this folder yet, "
            "begin one.",
        ),
    ] = None,
    config: ConfigFile = None,
    overrides: Overrides = None,
    verbose: Verbose = False,
    **options: object,
) -> None:
    """Hold the private data of one run in a container without a network, and serve a client in another container.

    It takes the options of pcevolve run, and prints on its own screen what the run will cost.
    """
    context.with_resource(at_door())
    request = _ask(context, options, overrides, config, resume)
    if request.settings.data.from_run is not None:
        raise UsageError(
            "a run that varies a release has no private data, so it needs no keeper: use pcevolve run "
            "--from RUN"
        )
    from pcevolve.app.session.containers import keep_at_door
    from pcevolve.public.run.progress import Audience

    side = sides.pop() if sides else start_keepers_side()
    assert isinstance(side, KeepersSide)
    keep_at_door(request, side, socket, Audience(verbose=verbose), is_demanded=any(demands))


@takes(MOST_USED)
def preview(
    context: click.Context,
    *,
    start: StartingFrom = None,
    config: ConfigFile = None,
    overrides: Overrides = None,
    verbose: Verbose = False,
    **options: object,
) -> None:
    """Show what the provider draws for your classes, before any privacy budget is spent.

    pcevolve preview takes the options of pcevolve run and begins that run: it requests the first images of each class
    and shows them on a page. pcevolve run --resume continues the run.
    """
    request = _ask(context, {**options, "from_run": start}, overrides, config, may_go_on=True)
    from pcevolve.app.session.staff import look
    from pcevolve.public.run.progress import Audience

    click.echo(look(request, Audience(verbose=verbose), take_children()))
    click.echo(f"if the images look like your domain: {request.folder.resume_command}", err=True)


def demo(
    out: Annotated[
        Path | None, Flag(help="Folder of the run. Default: runs/demo, or runs/demo-text with --text.")
    ] = None,
    text: Annotated[
        bool, Flag(("--text",), help="Use texts and the bundled language model instead of images.")
    ] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Run a demonstration on this machine: an API server in its own process, and a client that uses it over HTTP."""
    from pcevolve.public.encoders import require_torch

    require_torch("demo, which trains networks to measure its dataset,")
    from pcevolve.app.first.demo import demonstrate

    folder = out or Path("runs/demo-text" if text else "runs/demo")
    show(demonstrate(folder, take_children(), "text" if text else "image", verbose), as_json, verbose)


def show(summary: dict[str, Any], as_json: bool, verbose: bool = False) -> None:
    """Print a summary: a few lines, or every figure."""
    if as_json:
        click.echo(json.dumps(summary, indent=1))
        return
    from rich.console import Console

    from pcevolve.app.cli.summary import detail_result, summarise
    from pcevolve.public.screen import lay_out

    details = detail_result(summary) if verbose else ()
    Console(highlight=False).print(lay_out([*details, *summarise(summary)]))
