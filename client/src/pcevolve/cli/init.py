"""``pcevolve init``: an annotated configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to write it.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file that is there.")] = False,
) -> None:
    """Write pcevolve.toml, with every option of a run and what it is for, the ten most used ones first."""
    from pcevolve.session.first.init import write_template

    path = write_template(folder, force)
    typer.echo(f"written: {path}; set private, domain and out in it, then: pcevolve run --config {path}")
