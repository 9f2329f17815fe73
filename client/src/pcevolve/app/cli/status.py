"""``pcevolve status``: the progress of each run of a ledger, and how to continue an unfinished one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pcevolve.app.cli.budget import NO_RUN, format_time, open_ledger, tell_missing
from pcevolve.app.cli.options import Json, LedgerFile
from pcevolve.errors import ClientError
from pcevolve.public.screen import lay_out

if TYPE_CHECKING:
    from pcevolve.keeper.ledger.history import LedgerBook, RunRow


def status(ledger: LedgerFile = None, as_json: Json = False) -> None:
    """List the runs in the ledger: how far each has got, what it has spent, and how to continue an unfinished one."""
    if tell_missing(ledger, as_json=as_json):
        return
    with open_ledger(ledger, with_runs=True) as known:
        rows = [_describe(each, known) for each in known.runs()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    if not rows:
        click.echo(NO_RUN)
        return
    lines = []
    for row in rows:
        fault = f"; {row['fault']}" if "fault" in row else ""
        line = f"{row['folder'] or 'unknown'}: {row['domain']}, {row['spent']}, {row['began'][:10]}{fault}"
        lines.append((row["state"], line))
    from rich.console import Console

    Console(highlight=False).print(lay_out(lines))
    for row in rows:
        if "goes_on" in row:
            click.echo(f"to continue: {row['goes_on']}")


def _describe(row: RunRow, ledger: LedgerBook) -> dict[str, Any]:
    from pcevolve.keeper.continuity import find_fault
    from pcevolve.public.publish.loss import PrivacyLoss  # loads code that only readers of a ledger need
    from pcevolve.public.run.folder import RunFolder
    from pcevolve.public.transcript.reader import RunReader

    folder, state = RunFolder(Path(row.folder)), "gone"
    more: dict[str, str] = {}
    try:
        if row.folder and folder.log.exists():
            # Checked first: a run in progress changes ledger and record between the two reads.
            at_work = folder.is_held()
            run = RunReader.strict(folder.root)
            # Another run may be in the folder by now.
            if run.plan is not None and run.opened.run_id == row.run_id:
                published = run.finished and folder.manifest.is_file()
                if not at_work and (fault := find_fault(run, ledger)) is not None:
                    state, more = "inconsistent", {"fault": fault}
                elif published:
                    state = "finished"
                else:
                    own = f"the same pcevolve join command, with --out {row.folder}"
                    goes_on = folder.resume_command if run.plan.clinics is None else own
                    state, more = "unfinished", {"goes_on": goes_on}
    # The run is damaged, or made by another version; the other runs are still listed.
    except (ClientError, OSError) as error:
        state, more = "unreadable", {"fault": str(error)}
    return {
        "began": format_time(row.began),
        "state": state,
        "folder": row.folder,
        "domain": row.domain,
        "spent": PrivacyLoss(row.epsilon, row.epsilon_drawn, row.unit).say(),
        **more,
    }
