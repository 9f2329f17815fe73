"""``pcevolve fetch-encoder``: published weights, downloaded apart from any run."""

from __future__ import annotations

from typing import Annotated

import typer


def fetch_encoder(
    encoder: Annotated[
        str, typer.Argument(metavar="ENCODER", help="resnet18, inception, vit, clip or clip:MODEL:TAG.")
    ],
) -> None:
    """Download an encoder's published weights; a run itself talks to the configured API and to nobody else."""
    from pcevolve.encoders.fetch import fetch_encoder as fetch

    fetch(encoder)
    typer.echo(f"encoder {encoder} is ready: pcevolve run --encoder {encoder}")
