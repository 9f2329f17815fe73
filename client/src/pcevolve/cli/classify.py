"""``pcevolve classify``: the released class means of a run, applied to files on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pcevolve.cli.options import RunFolder, require_run


def classify(
    folder: RunFolder,
    images: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="Files of images, or of one text each.")
    ],
    weights: Annotated[
        str | None,
        typer.Option(
            "--encoder-weights", help="The encoder's weights, where the run was given a file of them."
        ),
    ] = None,
) -> None:
    """Say which class images or texts are nearest to, by what a run released about its classes."""
    require_run(folder)
    from pcevolve.auditing.selection import encoder_of  # torch takes seconds to load
    from pcevolve.session.finished.classification import NearestMean

    nearest = NearestMean.of(folder, partial(encoder_of, weights=weights))
    for path in images:
        typer.echo(f"{path}\t{nearest.label(path)}")
