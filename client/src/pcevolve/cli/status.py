"""``pcevolve status``: how far each run of a ledger is, and how an unfinished one goes on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcevolve.cli.budget import NO_RUN, format_time, open_ledger
from pcevolve.cli.options import Json, LedgerFile
from pcevolve.errors import ClientError
from pcevolve.public.figures import format_loss
from pcevolve.screen import lay_out


def status(ledger: LedgerFile = None, as_json: Json = False) -> None:
    """List the runs that the ledger knows: how far each is, what it has spent, and how an unfinished one goes on."""
    with open_ledger(ledger) as known:
        rows = [_describe(each.folder, each.domain, each.began, each.epsilon) for each in known.runs()]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    if not rows:
        typer.echo(NO_RUN)
        return
    lines = []
    for row in rows:
        fault = f"; {row['fault']}" if "fault" in row else ""
        told = f"{row['folder'] or 'unknown'}: {row['domain']}, {row['spent']}, {row['began'][:10]}{fault}"
        lines.append((row["state"], told))
    Console(highlight=False).print(lay_out(lines))
    for row in rows:
        if row["state"] == "unfinished":
            typer.echo(f"to go on: pcevolve run --resume {shlex.quote(row['folder'])}")


def _describe(folder: str, domain: str, began: float, epsilon: float) -> dict[str, Any]:
    from pcevolve.session.folder import RunFolder

    root = RunFolder(Path(folder))
    fault = {}
    try:
        state = "finished" if root.finished else "unfinished" if folder and root.has_plan() else "gone"
    except ClientError as error:  # damaged, or another version's; other runs are listed all the same
        state, fault = "unreadable", {"fault": str(error)}
    return {
        "began": format_time(began),
        "state": state,
        "folder": folder,
        "domain": domain,
        "spent": f"epsilon {format_loss(epsilon)}",
        **fault,
    }
