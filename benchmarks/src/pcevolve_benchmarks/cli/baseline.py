"""``pcevolve-bench baseline``: one run of what the papers compare with, without a gate, on public research data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
from rich.console import Console
from rich.table import Table

from pcevolve.app.cli.options import takes
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import UsageError
from pcevolve.public.config.sources import drop_unset
from pcevolve.public.config.table import run_options

ASKED = frozenset(
    {
        "domain",
        "epsilon",
        "delta",
        "relation",
        "candidates",
        "iterations",
        "shots",
        "subsample",
        "subsample_seed",
        "prompts",
        "encoder",
        "api",
        "dialect",
        "model",
        "api_key_file",
        "size",
        "batch",
        "seed",
        "insecure_noise_seed",
        "secrets",
        "secret_columns",
        "secret_prior",
        "secret_bound",
        "secret_size",
        "cells",
    }
)
"""Options of ``pcevolve run`` that mean the same here."""


@takes(each for each in run_options() if each.name in ASKED)
def baseline(
    name: Annotated[
        str, PositionalArgument(metavar="NAME", help="A baseline; without one, all are listed.")
    ] = "",
    data: Annotated[
        Path | None,
        Flag(help="Folder of PUBLIC images, one subfolder per class; or a table of PUBLIC texts."),
    ] = None,
    public_data: Annotated[
        bool,
        Flag(("--public-data",), help="The images are public: nothing here protects them."),
    ] = False,
    out: Annotated[Path | None, Flag(help="Folder to make: run.json, and the dataset by class.")] = None,
    captioner: Annotated[
        str | None,
        Flag(help="For gcap: attributes, or an image-to-text model's directory or hub id."),
    ] = None,
    **options: object,
) -> None:
    """Run one baseline of the papers WITHOUT A GATE, on public research data: minutes with the bundled model.

    Whatever the baseline hands to the image API leaves, the images themselves among it; no budget is counted and no
    record is kept. It needs an image API (--api; pcevolve-server serve starts one) and a folder of class folders.
    """
    if not name:
        _list()
        return
    from pcevolve_benchmarks.baselines.catalogue import baseline as find
    from pcevolve_benchmarks.runner import NO_GATE, run

    find(name)
    if data is None or out is None:
        raise UsageError("--data says where the images lie and --out where the dataset goes: give both")
    if not public_data:
        raise UsageError(
            f"this runs without protection ({NO_GATE}): say --public-data if the images are public"
        )
    asked = {**drop_unset(options), "method": name, "private": str(data), "captioner": captioner}
    found = run(asked, out)
    click.echo(f"{name}: {NO_GATE}")
    click.echo(f"it protects {found.facts['protects']}")
    click.echo(f"dataset: {found.root / 'dataset'}")


def _list() -> None:
    from pcevolve_benchmarks.baselines.catalogue import BASELINES

    shown = Table("name", "what it is", "what it protects")
    for each in BASELINES.values():
        shown.add_row(each.name, each.summary, each.protects)
    Console().print(shown)
