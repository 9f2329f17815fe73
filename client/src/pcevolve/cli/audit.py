"""``pcevolve audit``: an independent reading of a finished run, and its printed verdict."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcevolve.cli.options import Json, RunFolder, require_run
from pcevolve.cli.tables import print_table
from pcevolve.errors import ModelError, printable

if TYPE_CHECKING:
    from pcevolve.auditing import Audit

UNFINISHED = 9
"""Exit code of an audit in which nothing is broken, of a run that has not come to its end."""


def audit(
    folder: RunFolder,
    capture: Annotated[
        Path | None,
        typer.Option(help="What an independent recorder between client and API saw; compared byte for byte."),
    ] = None,
    html: Annotated[
        bool,
        typer.Option("--html", help="Also write RUN/wire.html: everything that left, to scroll through."),
    ] = False,
    allow_insecure: Annotated[
        bool,
        typer.Option(
            "--allow-insecure",
            help="Let a run pass whose noise came from a seed (INSECURE), or that has none (NOT PRIVATE).",
        ),
    ] = False,
    encoder_weights: Annotated[
        str | None, typer.Option(help="The file that the run was given as --encoder-weights, if it was.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check from the record alone that nothing left without a reason, and that all that may be shared follows from it.

    Exit code 1 if anything does not hold, or if the run is INSECURE or NOT PRIVATE; 9 if nothing is broken, but the run
    is UNFINISHED; 8 if nothing is broken, but the encoder that judged is not at hand, so that choices were not checked.
    """
    require_run(folder)
    from pcevolve.auditing import Audit, encoder_of
    from pcevolve.run.progress import error_console

    with error_console().status("making everything again from the record ..."):
        audited = Audit.of(folder, lambda plan: encoder_of(plan, encoder_weights), capture)
    if html:
        typer.echo(f"page: {audited.write_wire_page()}", err=True)
    else:
        audited.check_wire_page()
    _verdict(folder, audited, audited.secure or allow_insecure, as_json)


def _verdict(folder: Path, audited: Audit, allowed: bool, as_json: bool) -> None:
    """Print what an audit found, what speaks against the run's privacy first; exit 1 if a claim does not hold."""
    holds = all(each.holds for each in audited.findings) and allowed
    if as_json:
        findings = [asdict(each) for each in audited.findings]
        typer.echo(json.dumps({"marks": audited.marks, "holds": holds, "findings": findings}, indent=1))
    else:
        for mark in audited.marks:
            typer.echo(mark)
        rows = [(each.claim, str(each.checked), each.verdict) for each in audited.findings]
        print_table(f"Audit of {folder}", ("claim", "checked", "verdict"), rows)
    for each in audited.findings:
        for fault in each.faults[:20]:
            typer.echo(f"{each.claim}: NO, {printable(fault)}", err=True)
        if each.pending:
            typer.echo(f"{each.claim}: UNFINISHED, {printable(each.pending)}", err=True)
        if each.unchecked:
            typer.echo(f"{each.claim}: NOT CHECKED, {printable(each.unchecked)}", err=True)
    if not allowed:
        typer.echo(f"{_named(audited.mark)} run passes only with --allow-insecure", err=True)
    if not holds:
        raise typer.Exit(_exit_code(audited, allowed))


def _named(mark: str) -> str:
    """A run's mark with its article."""
    return f"a {mark}" if mark.startswith("N") else f"an {mark}"


def _exit_code(audited: Audit, allowed: bool) -> int:
    """Of an audit in which not all holds: others where nothing is broken, but something is missing."""
    if audited.broken or not allowed:
        return 1
    return UNFINISHED if audited.unfinished else ModelError.exit_code
