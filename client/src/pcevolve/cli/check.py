"""``pcevolve check``: a private folder looked at on this machine, as a table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from pcevolve.cli.options import Json, given, takes
from pcevolve.cli.tables import NARROW, print_table
from pcevolve.errors import DataError, printable
from pcevolve.public.options import checked
from pcevolve.session.first.check import Checkup, InspectedFolder, checkup, said, text_checkup
from pcevolve.session.progress import error_console

MOST_LINES = 20
"""Faults and warnings that are told one by one."""
STAYS = "Nothing was sent and nothing was spent. The counts above are private: they stay on this machine."


@takes(InspectedFolder)
def check(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of class folders of private images, or a table of texts."),
    ],
    *,
    as_json: Json = False,
    **options: object,
) -> None:
    """Look at private images before a run: formats, duplicates, units, what would be refused, and how to mend it.

    Nothing is sent and nothing is spent. Exit code 0 if a run would take the folder as it is, 3 if not.
    """
    meant = checked(InspectedFolder, given(options))
    if folder.is_file():
        found = text_checkup(folder, meant)
    else:
        with _progress() as begin:
            found = checkup(folder, meant, begin)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=1))
    else:
        _show(folder, found, meant)
    if not found.fit:
        raise typer.Exit(DataError.exit_code)


def _show(folder: Path, found: Checkup, meant: InspectedFolder) -> None:
    """The table, what is to be mended, and what comes next."""
    if found.rows:
        print_table(
            f"Private {'texts' if folder.is_file() else 'images'} in {folder}",
            ("what", "found"),
            found.rows,
            NARROW,
        )
    for word, lines in (("to mend", found.faults), ("to know", found.warnings)):
        for line in lines[:MOST_LINES]:
            typer.echo(f"{word}: {printable(line)}")
        if len(lines) > MOST_LINES:
            typer.echo(f"{word}: and {len(lines) - MOST_LINES} more")
    typer.echo(STAYS)
    if found.fit:
        more = "".join(
            f" --{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in _said(meant).items()
        )
        more += " --unlabelled" if meant.unlabelled else ""
        private = shlex.quote(str(folder)) + (" --dialect chat" if folder.is_file() else "")
        typer.echo(f"next: pcevolve run --private {private} {said(meant)}{more} --domain WORDS --out RUN")


def _said(meant: InspectedFolder) -> dict[str, object]:
    """What else a run has to be told, by option."""
    names = ("unit_map", "window", "text_column", "label_column", "unit_column")
    return {name: getattr(meant, name) for name in names if getattr(meant, name) is not None}


@contextmanager
def _progress() -> Iterator[Callable[[int], Callable[[], None]]]:
    """A bar at a terminal."""
    console = error_console()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:

        def begin(images: int) -> Callable[[], None]:
            task = bar.add_task("reading", total=images)
            return lambda: bar.advance(task)

        yield begin
