"""``pcevolve compare``: several finished runs beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pcevolve.cli.options import Json


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")],
    sheet: Annotated[
        Path | None,
        typer.Option(help="Also draw some images of each dataset, a row for each run, into this PNG."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page: facts, accuracies as bars and curves, and pictures of each run, class by class."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put finished runs beside each other: what each cost, whether it is useful, and what judges found.

    Accuracies are those that `pcevolve evaluate` left in RUN/private: they are functions of your images, for you alone.
    """
    from pcevolve.session.finished.comparison import compared, facts, write_page, write_sheet

    found = compared(folders)
    if sheet is not None:
        write_sheet(folders, sheet)
        typer.echo(f"{sheet}: some images of each dataset", err=True)
    if html is not None:
        write_page(found, folders, html)
        typer.echo(f"{html}: the runs beside each other", err=True)
    if as_json:
        typer.echo(json.dumps([each.to_json() for each in found]))
        return
    judges = list(dict.fromkeys(judge for each in found for judge in each.judges))
    table = Table("run", "method", "ε", "images", "requests", "useful?", *judges)
    for each in found:
        accuracies = [_accuracy(each.judges.get(judge)) for judge in judges]
        table.add_row(each.name, *facts(each.summary).values(), *accuracies)
    Console().print(table)
    if judges:
        typer.echo(
            "accuracy, % (s.e. over seeds of the head), for you alone; (v): the judge's encoder voted, which flatters "
            "what it selected",
            err=True,
        )
    else:
        typer.echo("pcevolve evaluate RUN --test DIR measures what a dataset is worth", err=True)


def _accuracy(found: dict[str, Any] | None) -> str:
    if found is None:
        return "–"
    return f"{100 * found['mean']:.1f} ± {100 * found['sem']:.1f}" + (" (v)" if found["voted"] else "")
