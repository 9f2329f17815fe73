"""``pcevolve export``: a finished run's dataset in another form."""

from __future__ import annotations

from typing import Annotated

import typer

from pcevolve.cli.options import RunFolder, require_run


def export(
    folder: RunFolder,
    form: Annotated[list[str], typer.Option("--format", help="parquet or webdataset; once for each.")],
) -> None:
    """Write the dataset of a finished run as Parquet or WebDataset beside its images."""
    require_run(folder)
    from pcevolve.publish.exports import export_run

    for path in export_run(folder, form):
        typer.echo(path)
