"""``pcevolve clinics``: an owner's key, and the roster on which all owners agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import click

from pcevolve.app.cli.help import HELP, GroupWithHeadings
from pcevolve.app.cli.options import Json, leave_files
from pcevolve.app.cli.parameters import PositionalArgument
from pcevolve.public.screen import NARROW, print_table

clinics = GroupWithHeadings(
    "clinics",
    help="Several owners of private data, one summed release: their keys and their roster.",
    no_args_is_help=True,
    context_settings=HELP,
)


@clinics.takes_command("key")
def clinics_key(
    file: Annotated[Path, PositionalArgument(metavar="FILE", help="Where the private key is written.")],
) -> None:
    """Make an owner's key pair: the private key into a file that stays here, the public one on the screen."""
    leave_files([], [file.absolute().parent])
    from pcevolve.keeper.clinics.keys import OwnerKey

    key = OwnerKey.new()
    key.save(file)
    click.echo(f'key = "{key.public}"')
    click.echo(f"{file} is private and stays here; the line above is for the roster", err=True)


@clinics.takes_command("roster")
def clinics_roster(
    file: Annotated[
        Path,
        PositionalArgument(
            metavar="ROSTER", help="A TOML file: classes, and of each owner name, shots and key."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check a roster, and show who is in it; owners compare its digest by telephone before they join."""
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
    many = "one owner" if owners.colluding == 1 else f"{owners.colluding} owners"
    click.echo(f"protects against everybody but {many}; a unit is with at most {owners.holders}")
    click.echo(f"digest: {roster.digest}")
