"""``pcevolve budget``: what a run would cost, and what was spent on which data."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from pcevolve.app.cli.help import HELP, GroupWithHeadings
from pcevolve.app.cli.options import Json, LedgerFile, leave_files, takes
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import DeclinedError, LedgerError, UsageError
from pcevolve.public.config.sources import drop_unset
from pcevolve.public.config.table import list_command_options
from pcevolve.public.figures import USUAL_DELTA, format_loss, in_full, parse_cap, parse_delta, spell_count
from pcevolve.public.screen import NARROW, print_table

if TYPE_CHECKING:
    from pcevolve.keeper.ledger.entries import Cap
    from pcevolve.keeper.ledger.history import HistoryRow, LedgerBook, RunRow
    from pcevolve.public.privacy import Budget

budget = GroupWithHeadings(
    "budget",
    help="Show what a run would cost, what earlier runs spent, and on which data.",
    no_args_is_help=True,
    context_settings=HELP,
)

NO_RUN = "no run has used this ledger yet (pcevolve demo uses a separate ledger)"


@budget.takes_command("plan")
@takes(list_command_options("budget plan"))
def budget_plan(*, as_json: Json = False, **options: object) -> None:
    """Print what a run would cost, and how much better its selection would be than a random one. Nothing is spent."""
    leave_files()
    from pcevolve.app.first.pricing import PlannedRun, price, tabulate_plan
    from pcevolve.public.config.declared import validate
    from pcevolve.public.selectors.planner import CHANCE, USE_MORE

    planned = price(validate(PlannedRun, drop_unset(options)))
    if as_json:
        click.echo(json.dumps(planned.as_dict(), indent=1))
    else:
        print_table(f"Plan of {planned.method}", ("what", "value"), tabulate_plan(planned), NARROW)
        click.echo(f"With this noise, the selection is {planned.verdict}.")
        if planned.verdict == CHANCE:
            click.echo(f"A run with this plan starts only with --yes: {USE_MORE}.")
        click.echo("pcevolve preview shows whether the provider can draw your domain.")


@budget.takes_command("show")
def budget_show(ledger: LedgerFile = None, as_json: Json = False) -> None:
    """List all runs in the ledger, what each has spent at its own delta, and what all runs have spent together."""
    if tell_missing(ledger, as_json=as_json):
        return
    with open_ledger(ledger) as known:
        rows, cap, total = known.runs(), known.cap(), _spell_total(known)
    if as_json:
        click.echo(json.dumps([_as_json(row) for row in rows], indent=1))
        return
    if not rows:
        click.echo(NO_RUN)
        return
    print_table("Privacy ledger", ("began", "run", "units", "spent"), map(_cells, rows), NARROW, lines=True)
    click.echo(total)
    click.echo(_spell_cap(cap))


def _spell_total(known: LedgerBook) -> str:
    """State the ε of all runs on the most exposed subject, and what an attacker can infer with it."""
    cap = known.cap()
    delta = USUAL_DELTA if cap is None else cap.delta
    from pcevolve.public.dp.accountants import epsilon
    from pcevolve.public.publish.loss import state_odds

    try:
        worst = known.find_most_exposed(delta)
    except LedgerError as error:
        return f"sum of all runs: unknown; {error}"
    if worst is None:
        return "no run has spent anything"
    spent = format_loss(epsilon(worst.events, delta))
    return (
        f"all runs together have spent epsilon {spent} at delta {in_full(delta)} on the most exposed "
        f"{worst.kind}, not counting INSECURE runs: {state_odds(worst.events)}"
    )


@budget.takes_command("cap")
def budget_cap(
    epsilon: Annotated[
        str | None,
        PositionalArgument(metavar="EPSILON", help="The new cap. Without it, the current cap is shown."),
    ] = None,
    delta: Annotated[float, Flag(help="Delta at which the cap applies.")] = USUAL_DELTA,
    ledger: LedgerFile = None,
    yes: Annotated[
        bool, Flag(("--yes",), help="Set the cap without asking, even if runs may then spend more.")
    ] = False,
) -> None:
    """Show or set the cap on what all runs in the ledger together may spend on one image, text or patient.

    The cap is set by those responsible for the data. A run may lower the cap for itself, but not raise it. A change
    that lets runs spend more has to be confirmed. Every cap stays in the ledger's history. Without a cap, a run is
    refused if it and earlier runs on the same data would together spend more than its own epsilon.
    """
    if epsilon is None:
        if tell_missing(ledger):
            return
        with open_ledger(ledger) as known:
            click.echo(_spell_cap(known.cap()))
        return
    from pcevolve.app.session.access import find_nearest, list_ledger_folders
    from pcevolve.public.config.files import find_ledger, find_ledger_volume
    from pcevolve.public.privacy import Budget

    wanted, path = Budget(parse_cap(epsilon), parse_delta(delta)), ledger or find_ledger()
    leave_files(writes=[find_nearest(path.parent), *list_ledger_folders(path)])
    from pcevolve.keeper.ledger.creation import require_volume
    from pcevolve.keeper.ledger.history import LedgerBook  # SciPy takes a second to load

    require_volume(path, find_ledger_volume())
    with closing(LedgerBook(path, waiting=_tell_waiting)) as known:
        before = known.cap()
        if not yes and _allows_more(before, wanted, bool(known.runs())):
            _require_agreement(
                f"a cap of {_spell_budget(wanted)} would let runs spend more than the present rule "
                f"({_spell_cap(before)})"
            )
        known.set_cap(wanted)
        used_up = _say_used_up(known, wanted)
    click.echo(f"{path}: {_spell_cap(wanted)}{used_up}")


def _say_used_up(known: LedgerBook, cap: Budget) -> str:
    """Return a remark that runs have already spent a cap; empty if they have not."""
    from pcevolve.public.dp.accountants import epsilon

    try:
        worst = known.find_most_exposed(cap.delta)
    except LedgerError:
        return ""
    spent = 0.0 if worst is None else epsilon(worst.events, cap.delta)
    if worst is None or spent < cap.epsilon:
        return ""
    return (
        f"; epsilon {format_loss(spent)} is already spent on the most exposed {worst.kind}, so no further "
        "run on the same data can start"
    )


def _allows_more(before: Budget | None, wanted: Budget, used: bool) -> bool:
    """True if the new cap lets runs spend more."""
    if before is None:
        return used
    return wanted.epsilon > before.epsilon or wanted.delta > before.delta


def _require_agreement(change: str) -> None:
    """Ask at a terminal for permission to spend more; elsewhere refuse, because nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError(f"{change}: confirm the change at a terminal, or give --yes")
    if not click.confirm(f"{change}. Allow runs to reveal more about the same people?", err=True):
        raise DeclinedError("the cap was not changed")


def _spell_cap(cap: Budget | None) -> str:
    if cap is None:
        return "no cap: a run is refused if it and earlier runs on the same data would together exceed its own epsilon"
    return f"all runs together may spend {_spell_budget(cap)} on any one image, text or patient"


def _spell_budget(budget: Budget) -> str:
    return f"epsilon {float(budget.epsilon):g} at delta {in_full(budget.delta)}"


@budget.takes_command("history")
def budget_history(
    run: Annotated[
        str | None, Flag(help="Id of the only run to list. pcevolve budget show prints the ids.")
    ] = None,
    ledger: LedgerFile = None,
    as_json: Json = False,
) -> None:
    """List in order of time every release of private data, with what its run had spent by then, and every cap."""
    if tell_missing(ledger, as_json=as_json):
        return
    with open_ledger(ledger) as known:
        rows: list[HistoryRow | Cap] = [*known.history(run), *(known.caps() if run is None else ())]
    rows.sort(key=attrgetter("number"))
    if as_json:
        click.echo(json.dumps([_as_json(row) for row in rows], indent=1))
        return
    headings = ("no.", "time", "run", "round", "mechanism", "parameter", "count", "noise", "epsilon so far")
    cells = [_list_cells(row) for row in rows]
    # A release may have several events; its number is shown only in the first one's row.
    for row, before in zip(cells[:0:-1], cells[-2::-1], strict=True):
        if row[0] == before[0]:
            row[:3] = ["", "", ""]
    print_table("Releases of private data", headings, cells)


@budget.takes_command("export")
def budget_export(
    out: Annotated[Path | None, Flag(help="File to write. Default: standard output.")] = None,
    ledger: LedgerFile = None,
) -> None:
    """Write all events and receipts as JSON, for another privacy-accounting tool. The file holds nothing private."""
    with open_ledger(ledger, writes=() if out is None else [out.absolute().parent]) as known:
        text = json.dumps(known.export(), indent=1)
    if out is None:
        click.echo(text)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}: choose another --out") from error
    click.echo(f"written: {out}")


def tell_missing(path: Path | None, *, as_json: bool = False) -> bool:
    """Report that there is no ledger yet, which is no error, and return True; return False if there is one."""
    from pcevolve.keeper.ledger.creation import describe_missing, is_there
    from pcevolve.public.config.files import find_ledger

    if is_there(path or find_ledger()):
        return False
    click.echo(describe_missing(path or find_ledger()), err=as_json)
    if as_json:
        click.echo("[]")
    return True


@contextmanager
def open_ledger(
    path: Path | None, writes: Iterable[Path] = (), *, with_runs: bool = False
) -> Iterator[LedgerBook]:
    """Open an existing ledger, by default the user's own, and give up access to all files except those below.

    Args:
        writes: Files and folders to which this process keeps access, in addition to the ledger.
        with_runs: Whether this process also keeps access to the folders of the ledger's runs.

    Raises:
        LedgerError: There is no ledger, or it cannot be opened.
    """
    from pcevolve.app.session.access import list_ledger_folders
    from pcevolve.keeper.ledger.creation import list_run_folders, require_there
    from pcevolve.public.config.files import find_ledger

    require_there(path or find_ledger())
    reads = list_run_folders(path or find_ledger()) if with_runs else ()
    leave_files(filter(None, reads), [*list_ledger_folders(path or find_ledger()), *writes])
    from pcevolve.keeper.ledger.history import LedgerBook  # SciPy takes a second to load

    with closing(LedgerBook(path or find_ledger(), create=False, waiting=_tell_waiting)) as ledger:
        yield ledger


def _list_cells(row: HistoryRow | Cap) -> list[str]:
    """Return an event of a release, or a cap, as the columns of the history."""
    from pcevolve.keeper.ledger.entries import Cap

    begins = str(row.number), format_time(row.time)
    if not isinstance(row, Cap):
        return [
            *(*begins, row.run_id, str(row.iteration), row.mechanism, _short(row.parameter)),
            *(str(row.count), row.noise, format_loss(row.epsilon)),
        ]
    return [*begins, "all", "", "cap", _spell_budget(row.budget), "", "", ""]


def _tell_waiting(message: str) -> None:
    click.echo(message, err=True)


def _as_json(row: RunRow | HistoryRow | Cap) -> dict[str, Any]:
    """Return a row as JSON; infinity, an unbounded loss, becomes null."""
    from pcevolve.keeper.ledger.entries import Cap

    if isinstance(row, Cap):
        cap = {"epsilon": str(row.budget.epsilon), "delta": row.budget.delta}
        return {"number": row.number, "time": row.time, "cap": cap}
    return {name: None if value == math.inf else value for name, value in asdict(row).items()}


def _cells(row: RunRow) -> tuple[str, str, str, str]:
    """Return a run in a few columns: its start, its identity, its data, and its spending."""
    from pcevolve.public.publish.loss import PrivacyLoss  # NumPy takes a moment to load

    name = f"{row.folder or 'unknown folder'}\n{row.domain}".strip()
    units = f"{row.units} (unit: {row.unit})"  # identified by name, or by images alone
    if row.named:
        units += f"\n{row.images} images"
    loss = PrivacyLoss(row.epsilon, row.epsilon_drawn, row.unit).say()
    spent = f"{loss}\nat delta {in_full(row.delta)}\n{row.relation}\n{spell_count(row.releases, 'release')}"
    spent += f"\n{row.noise}"
    if row.forgets_insecure:
        spent += "\nwithout INSECURE runs"
    if row.secret_mu is not None and math.isfinite(row.secret_mu):
        spent += f"\nmu {row.secret_mu:.3g} of each secret"
    return (
        format_time(row.began)[: len("2026-01-01 12:00")].replace(" ", "\n"),
        f"{name}\nid {row.run_id[:8]}",
        units,
        spent,
    )


def format_time(seconds: float) -> str:
    """Format a recorded time; a wrong clock may have recorded any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"


def _short(parameter: str) -> str:
    """Return an exact fraction, or its rounded value if it is long."""
    return parameter if len(parameter) <= 12 else f"{float(Fraction(parameter)):.6g}"
