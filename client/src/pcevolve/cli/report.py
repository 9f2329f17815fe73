"""``pcevolve report``: the page about a finished run."""

from __future__ import annotations

import typer

from pcevolve.cli.options import RunFolder, require_run


def report(folder: RunFolder) -> None:
    """Write the page about a finished run anew, as this version words it."""
    require_run(folder)
    from pcevolve.pages.report import rewritten_report

    typer.echo(rewritten_report(folder))
