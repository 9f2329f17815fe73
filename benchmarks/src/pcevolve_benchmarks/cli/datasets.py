"""``pcevolve-bench datasets``: which public datasets can be read, and how they become folders."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import click
from rich.console import Console
from rich.table import Table

from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import UsageError
from pcevolve_benchmarks.datasets.catalogue import DATASETS, dataset
from pcevolve_benchmarks.datasets.items import Dataset

SHOTS = 10
"""Units per class that the next command draws, if there are as many."""


def datasets(
    name: Annotated[
        str, PositionalArgument(metavar="NAME", help="A dataset; without one, all are listed.")
    ] = "",
    source: Annotated[
        Path | None,
        Flag(("--from",), metavar="PATH", help="Where it lies, as it was downloaded and unpacked."),
    ] = None,
    out: Annotated[
        Path | None,
        Flag(help="Folder to make, with train and test, each with one subfolder per class."),
    ] = None,
    labels: Annotated[
        str,
        Flag(help="Names of the classes, separated by commas, in the order of the dataset's own."),
    ] = "",
    held_out: Annotated[
        int | None,
        Flag(
            min=0,
            help="Images per class for the test, of a dataset without a split of its own; 0: all are for train.",
        ),
    ] = None,
    most: Annotated[
        int | None, Flag(min=1, help="Most images per class of train and of test, drawn at random.")
    ] = None,
    seed: Annotated[int, Flag(min=0, help="Of the draws.")] = 0,
) -> None:
    """List public datasets of the papers, say where one comes from, or make folders of one; nothing is downloaded."""
    if not name:
        _list()
        return
    chosen = dataset(name)
    if source is None and out is None:
        _tell(chosen)
        return
    if source is None or out is None:
        raise UsageError("--from says where the dataset lies and --out where its folders go: give both")
    from pcevolve.keeper.images import count_drawable
    from pcevolve.public.run.progress import error_console, show_work
    from pcevolve_benchmarks.datasets.writing import WantedSplit, write

    wanted = WantedSplit(
        tuple(each.strip() for each in labels.split(",") if each.strip()), held_out, most, seed
    )
    console = error_console()
    with show_work(console, f"writing {name}") as show_progress:
        made = write(chosen, source, out, wanted, show_progress)
    console.print(f"{made.counts['train']} images in train, {made.counts['test']} in test")
    console.print(f"classes: {', '.join(made.labels)}; terms: {chosen.terms}")
    console.print("next:")
    words = shlex.quote(chosen.words or "WORDS FOR WHAT THEY SHOW")
    units = f" --unit-map {shlex.quote(str(made.units))}" if made.units else ""
    train = shlex.quote(str(out / "train"))
    test = f" --test {shlex.quote(str(out / 'test'))}" if made.counts["test"] else ""
    shots = min(SHOTS, count_drawable(out / "train", made.units))
    drawn = f" --set data.subsample={shots}" if shots else ""
    click.echo(f"pcevolve run --private {train}{test}{units}{drawn} --domain {words} --out runs/{name}")
    if not test:
        return  # a table needs held-out images
    data = shlex.quote(f"{chosen.words or 'WORDS'}={out}")
    click.echo(f"pcevolve-bench table table1 --public-data --data {data}")


def _list() -> None:
    shown = Table("name", "what it is", "terms")
    for each in DATASETS.values():
        shown.add_row(each.name, each.title, each.terms)
    Console().print(shown)
    click.echo(
        "pcevolve-bench datasets NAME says where one comes from and what it has to look like", err=True
    )


def _tell(chosen: Dataset) -> None:
    shown = Table(show_header=False)
    facts = {
        "what": chosen.title,
        "--domain": chosen.words or "say what yours show",
        "expects": chosen.layout,
        "sizes": chosen.sizes,
        "privacy unit": chosen.unit or "image",
        "where": chosen.where,
        "terms": chosen.terms,
    }
    for name, fact in facts.items():
        shown.add_row(name, fact)
    Console().print(shown)
