"""``pcevolve doctor`` and ``pcevolve status``: whether a run could begin here, and how far those are that have."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcevolve.cli.options import ConfigFile, Json, LedgerFile, Said, gather, takes
from pcevolve.config.places import default_ledger
from pcevolve.config.sections import Config
from pcevolve.errors import printable
from pcevolve.public.figures import format_loss
from pcevolve.public.options import Option
from pcevolve.screen import lay_out

NEEDED = {"private": "digits", "domain": "anything", "out": "."}
"""Values of options that every run has, and none of which is looked at."""


def _asks_about(option: Option) -> bool:
    """True if an option says what a run would use of this machine or whom it would ask."""
    asked = option.section in ("provider", "encoder") and option.name not in ("yes", "max_cost", "out")
    return asked and option.name in Config.MOST_USED


@takes(Config, only=_asks_about)
def doctor(
    context: typer.Context,
    *,
    config: ConfigFile = None,
    said: Said = None,
    as_json: Json = False,
    **options: object,
) -> None:
    """Look at versions, encoder, ledger, disk and API, and say what is missing; exit code 1 if something is.

    Nothing private is read. The API gets the greeting that every run sends.
    """
    from pcevolve.config.config import RunConfig
    from pcevolve.session.first.doctor import examine

    found = [*examine(RunConfig.of({**NEEDED, **gather(context, options, said, config)}))]
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=1))
    else:
        marks = {True: "ok", False: "TO MEND"}
        Console(highlight=False).print(
            lay_out((each.what, f"{marks[each.fit]}: {printable(each.found)}") for each in found)
        )
    if not all(each.fit for each in found):
        raise typer.Exit(1)


def status(ledger: LedgerFile = None, as_json: Json = False) -> None:
    """List the runs that the ledger knows: how far each is, what it has spent, and how an unfinished one goes on."""
    from pcevolve.cli.budget import opened

    with opened(ledger or default_ledger()) as known:
        rows = [_row(each.folder, each.domain, each.began, each.epsilon) for each in known.runs()]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    lines = [
        (row["state"], f"{row['folder'] or 'unknown'}: {row['domain']}, {row['spent']}, {row['began'][:10]}")
        for row in rows
    ]
    Console(highlight=False).print(lay_out(lines))
    for row in rows:
        if row["state"] == "unfinished":
            typer.echo(f"to go on: pcevolve run --resume {shlex.quote(row['folder'])}")


def _row(folder: str, domain: str, began: float, epsilon: float) -> dict[str, Any]:
    """A run in words."""
    from pcevolve.session.folder import RunFolder

    root = RunFolder(Path(folder))
    state = "finished" if root.finished else "unfinished" if folder and root.has_plan() else "gone"
    day = datetime.fromtimestamp(began, UTC).isoformat(" ", "seconds")
    return {
        "began": day,
        "state": state,
        "folder": folder,
        "domain": domain,
        "spent": f"epsilon {format_loss(epsilon)}",
    }
