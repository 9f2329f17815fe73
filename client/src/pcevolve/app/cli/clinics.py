"""``pcevolve clinics``: an owner's key, and the roster that all owners agree on. ``pcevolve join``: take part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from pcevolve.app.cli.help import HELP, GroupWithHeadings
from pcevolve.app.cli.options import Json, LedgerFile, Verbose, leave_files
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import UsageError
from pcevolve.public.figures import spell_count
from pcevolve.public.processes.launcher import (
    KeepersSide,
    demands,
    sides,
    start_keepers_side,
    take_children,
)
from pcevolve.public.screen import NARROW, print_table

if TYPE_CHECKING:  # pydantic is slow to import, and a refusal should be quick
    from pcevolve.app.session.joining import Joining
    from pcevolve.public.run.progress import Audience

clinics = GroupWithHeadings(
    "clinics",
    help="Make keys and check rosters for runs in which several data owners make one joint release.",
    no_args_is_help=True,
    context_settings=HELP,
)


@clinics.takes_command("key")
def clinics_key(
    file: Annotated[
        Path, PositionalArgument(metavar="FILE", help="File to which the private key is written.")
    ],
) -> None:
    """Make an owner's key pair.

    The private key is written to FILE, which stays on this machine. The public key is printed.
    """
    leave_files([], [file.absolute().parent])
    from pcevolve.keeper.clinics.keys import OwnerKey

    key = OwnerKey.new()
    key.save(file)
    click.echo(f'key = "{key.public}"')
    click.echo(f"{file} is private and stays on this machine; the line above belongs in the roster", err=True)


@clinics.takes_command("roster")
def clinics_roster(
    file: Annotated[
        Path,
        PositionalArgument(
            metavar="ROSTER",
            help="TOML file with the classes and, for each owner, a name, a number of shots and a public "
            "key.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check a roster and show its owners. Before they join, owners compare the roster's digest by telephone."""
    leave_files([file])
    from pcevolve.public.clinics.roster import Roster

    roster = Roster.read(file)
    owners = roster.clinics
    facts = {
        "digest": roster.digest,
        "classes": [*roster.labels.values()],
        "colluding": owners.colluding,
        "holders": owners.holders,
        "owners": [{"name": each.name, "shots": each.shots, "key": each.key} for each in owners.owners],
    }
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    rows = [(each.name, str(each.shots), each.key[-12:]) for each in owners.owners]
    print_table(f"Roster {file}", ("owner", "units of each class", "key ends in"), rows, NARROW)
    click.echo(f"classes: {', '.join(roster.labels.values())}")
    many = f"at most {owners.colluding} of the owners collude" if owners.colluding else "no owner colludes"
    click.echo(
        f"the guarantee holds against server and coordinator if {many} with them; an owner listed twice counts twice"
    )
    click.echo(
        f"it assumes that the data of one unit are held by at most {spell_count(owners.holders, 'owner')}"
    )
    click.echo(f"digest: {roster.digest}")


def join(
    url: Annotated[str, PositionalArgument(metavar="URL", help="Address of the coordinator.")],
    private: Annotated[
        str,
        Flag(
            ("--private",),
            help="Folder with one subfolder of your own images per class, or a table of your own texts.",
        ),
    ],
    roster: Annotated[
        Path, Flag(("--roster",), metavar="ROSTER", help="Roster: TOML file that lists all owners.")
    ],
    key: Annotated[
        Path, Flag(("--key",), metavar="FILE", help="Your private key, from pcevolve clinics key.")
    ],
    out: Annotated[
        Path,
        Flag(
            ("--out",),
            help="Folder for your copy of the run's record. An interrupted run continues from this copy.",
        ),
    ] = Path("runs/joined"),
    ledger: LedgerFile = None,
    unit_map: Annotated[
        Path | None,
        Flag(
            ("--unit-map",),
            help="CSV file that groups images into privacy units; its columns are file,patient.",
        ),
    ] = None,
    text_column: Annotated[
        str | None, Flag(("--text-column",), help="Name of the column that holds the texts.")
    ] = None,
    label_column: Annotated[
        str | None, Flag(("--label-column",), help="Name of the column that holds the labels.")
    ] = None,
    lifetime_epsilon: Annotated[
        str | None,
        Flag(
            ("--lifetime-epsilon",),
            help="Limit on what all runs together may spend on one privacy unit. It can only lower the "
            "ledger's cap.",
        ),
    ] = None,
    encoder_weights: Annotated[
        Path | None,
        Flag(
            ("--encoder-weights",),
            help="File of the encoder's weights, if this machine does not have them in the usual place.",
        ),
    ] = None,
    ca_file: Annotated[
        Path | None,
        Flag(
            ("--ca-file",),
            help="PEM file of the certificate authorities to trust for the coordinator's certificate, "
            "instead of the system's.",
        ),
    ] = None,
    max_epsilon: Annotated[
        str | None,
        Flag(
            ("--max-epsilon",),
            help="Refuse a plan that costs one privacy unit more epsilon than this, at the plan's delta "
            "or at 1e-5, whichever is smaller. --yes requires this option.",
        ),
    ] = None,
    socket: Annotated[
        Path | None,
        Flag(
            ("--socket",),
            metavar="FILE",
            help="Run without a network, and answer over this socket file. pcevolve run --keeper FILE in "
            "another container makes the connections.",
        ),
    ] = None,
    yes: Annotated[
        bool,
        Flag(("--yes", "-y"), help="Agree without being asked if the plan costs no more than --max-epsilon."),
    ] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Take part in a run of several data owners: read the plan, agree to it once, and answer until the run is over.

    Only outgoing connections are made. Private data stay on this machine. Only masked noisy sums are sent; the masks
    cancel when the sums of all owners are added. To continue an interrupted run, give the same command again.
    """
    if yes and max_epsilon is None:
        raise UsageError(
            "--yes agrees to a plan that nobody has read: limit its cost with --max-epsilon E, the "
            "largest epsilon for one unit"
        )
    from pcevolve.app.session.joining import Joining
    from pcevolve.app.session.joining import join as take_part
    from pcevolve.public.config.files import find_ledger
    from pcevolve.public.figures import parse_epsilon
    from pcevolve.public.run.progress import Audience

    limits = [None if each is None else str(parse_epsilon(each)) for each in (lifetime_epsilon, max_epsilon)]
    own = {
        "private": private,
        "roster": str(roster.absolute()),
        "key": str(key.absolute()),
        "folder": str(out.absolute()),
        "ledger": str((ledger or find_ledger()).absolute()),
        "unit_map": None if unit_map is None else str(unit_map.absolute()),
        "texts": [text_column, label_column],
        "weights": None if encoder_weights is None else str(encoder_weights.absolute()),
        "lifetime": limits[0],
        "most": limits[1],
    }
    joining, audience = Joining(url, own, ca_file, yes), Audience(verbose=verbose)
    if socket is not None:
        _keep_at_door(joining, socket, audience)
        return
    summary = take_part(joining, audience, take_children())
    if as_json:
        click.echo(json.dumps(summary, indent=1))
        return
    click.echo(f"dataset: {summary['dataset']}")
    click.echo(f"report: {summary['report']}")


def _keep_at_door(joining: Joining, socket: Path, audience: Audience) -> None:
    from pcevolve.app.session.containers import join_at_door

    side = sides.pop() if sides else start_keepers_side()
    assert isinstance(side, KeepersSide)
    join_at_door(joining, side, socket, audience, is_demanded=any(demands))
