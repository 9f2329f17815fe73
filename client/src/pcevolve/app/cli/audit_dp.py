"""``pcevolve audit-dp``: tests a mechanism independently, and prints the verdict."""

from __future__ import annotations

import json
from itertools import count
from typing import Annotated

import click

from pcevolve.app.cli.options import Json, leave_files, takes
from pcevolve.app.cli.parameters import PositionalArgument
from pcevolve.public.config.sources import drop_unset
from pcevolve.public.config.table import list_command_options
from pcevolve.public.screen import lay_out


@takes(list_command_options("audit-dp"))
def audit_dp(
    method: Annotated[
        str, PositionalArgument(metavar="METHOD", help="Method whose claim is tested: pcevolve, pe, ...")
    ],
    *,
    as_json: Json = False,
    **options: object,
) -> None:
    """Try to tell two neighbouring datasets apart by a method's releases, as an attacker would.

    The exit code is 1 if the method leaks more than it claims. No private data are read and no budget is spent. The
    datasets are made up; the mechanisms are those of a real run.
    """
    leave_files([])
    from rich.console import Console

    from pcevolve.auditing.dp_audit.audit import (
        audit_method,  # SciPy takes a second to load, which --help does not need
    )
    from pcevolve.auditing.dp_audit.claim import AuditedClaim
    from pcevolve.public.config.declared import validate
    from pcevolve.public.run.progress import error_console, show_work

    asked = validate(AuditedClaim, drop_unset(options))
    claim = asked.of(method)
    done = count(1)
    with show_work(error_console(), f"Audit of {method}") as show_progress:
        verdict = audit_method(claim, asked.seed, lambda: show_progress(next(done), 2 * claim.runs))
    if as_json:
        click.echo(json.dumps(verdict.as_dict(), indent=1))
    else:
        rows = ((name, str(value)) for name, value in verdict.as_dict().items())
        Console().print(lay_out(rows, "Privacy audit"))
    click.echo(verdict.sentence, err=True)
    if not verdict.holds:
        raise click.exceptions.Exit(1)
