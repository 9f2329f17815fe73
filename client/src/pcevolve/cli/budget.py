"""``pcevolve budget``: what a run would cost, what was spent, and on which data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcevolve.cli.help import HELP, CommandWithPanels, GroupWithPanels
from pcevolve.cli.options import Json, LedgerFile, drop_unset, takes
from pcevolve.config.files import find_ledger
from pcevolve.errors import UsageError
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.options import validate
from pcevolve.screen import NARROW, print_table
from pcevolve.session.first.pricing import PlannedRun, price, tabulate_plan

if TYPE_CHECKING:
    from pcevolve.ledger.ledger import HistoryRow, Ledger, RunRow

budget = typer.Typer(
    cls=GroupWithPanels,
    help="What a run would cost, what was spent, and on which data.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=HELP,
)

NO_RUN = "no run has begun with this ledger (pcevolve demo keeps one of its own)"


@budget.command("plan", cls=CommandWithPanels)
@takes(PlannedRun)
def budget_plan(*, as_json: Json = False, **options: object) -> None:
    """Print what a run would cost and how much better than luck it would choose; nothing is spent."""
    planned = price(validate(PlannedRun, drop_unset(options)))
    if as_json:
        typer.echo(json.dumps(planned.as_dict(), indent=1))
    else:
        print_table(f"Plan of {planned.method}", ("what", "value"), tabulate_plan(planned), NARROW)
        typer.echo(f"Selection against noise: {planned.verdict}.")
        typer.echo("What the provider can draw is another question: pcevolve preview shows it.")


@budget.command("show", cls=CommandWithPanels)
def budget_show(ledger: LedgerFile = None, as_json: Json = False) -> None:
    """List all runs in the ledger, by folder, domain and date, and what each has spent at its own delta."""
    with open_ledger(ledger) as known:
        rows = known.runs()
    if as_json:
        typer.echo(json.dumps([_as_json(row) for row in rows], indent=1))
        return
    if not rows:
        typer.echo(NO_RUN)
        return
    print_table("Privacy ledger", ("began", "run", "units", "spent"), map(_cells, rows), NARROW, lines=True)


@budget.command("history", cls=CommandWithPanels)
def budget_history(
    run: Annotated[
        str | None, typer.Option(help="Only this run, by its id; 'pcevolve budget show' lists them.")
    ] = None,
    ledger: LedgerFile = None,
    as_json: Json = False,
) -> None:
    """List every access to private data, in the order of payment, and what its run had spent after it."""
    with open_ledger(ledger) as known:
        rows = known.history(run)
    if as_json:
        typer.echo(json.dumps([_as_json(row) for row in rows], indent=1))
        return
    headings = ("no.", "time", "run", "round", "mechanism", "parameter", "count", "noise", "epsilon so far")
    cells = [
        (
            *(str(row.number), format_time(row.time), row.run_id, str(row.iteration)),
            *(row.mechanism, _short(row.parameter), str(row.count), row.noise, format_loss(row.epsilon)),
        )
        for row in rows
    ]
    print_table("Accesses to private data", headings, cells)


@budget.command("export", cls=CommandWithPanels)
def budget_export(
    out: Annotated[Path | None, typer.Option(help="File to write; stdout if not given.")] = None,
    ledger: LedgerFile = None,
) -> None:
    """Write all events and receipts as JSON, for an accountant elsewhere; nothing in it is private."""
    with open_ledger(ledger) as known:
        text = json.dumps(known.export(), indent=1)
    if out is None:
        typer.echo(text)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}: choose another --out") from error
    typer.echo(f"written: {out}")


@contextmanager
def open_ledger(path: Path | None) -> Iterator[Ledger]:
    """A ledger that is there, the default one if None; else ``LedgerError``."""
    from pcevolve.ledger.creation import require_there

    require_there(path or find_ledger())
    from pcevolve.ledger.ledger import Ledger  # SciPy takes a second to load

    with closing(Ledger(path or find_ledger(), create=False)) as ledger:
        yield ledger


def _as_json(row: RunRow | HistoryRow) -> dict[str, Any]:
    """A row for JSON, which has no infinity: an unbounded loss is null."""
    return {name: None if value == math.inf else value for name, value in asdict(row).items()}


def _cells(row: RunRow) -> tuple[str, str, str, str]:
    """A run in few columns: when it began, what it was, whom it concerned, what it has spent."""
    name = f"{row.folder or 'a folder that the ledger does not know'}\n{row.domain}".strip()
    units = f"{row.units} by {row.unit}"  # by their names, or by their images alone
    if row.named:
        units += f"\n{row.images} images"
    spent = f"epsilon {format_loss(row.epsilon)}\nat delta {in_full(row.delta)}\n{row.relation}\n{row.draws} accesses"
    spent += f"\n{row.noise}"
    if row.forgets_insecure:
        spent += "\nforgets INSECURE runs"
    if row.secret_mu is not None and math.isfinite(row.secret_mu):
        spent += f"\nmu {row.secret_mu:.3g} of each secret"
    return (
        format_time(row.began)[: len("2026-01-01 12:00")].replace(" ", "\n"),
        f"{name}\nid {row.run_id[:8]}",
        units,
        spent,
    )


def format_time(seconds: float) -> str:
    """A recorded time for people; the clock that recorded it may have said anything."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"


def _short(parameter: str) -> str:
    """An exact fraction, or its value where it would fill the table."""
    return parameter if len(parameter) <= 12 else f"{float(Fraction(parameter)):.6g}"
