"""``pcevolve report``: the pages about a finished run."""

from __future__ import annotations

import typer

from pcevolve.cli.options import RunFolder, require_run


def report(folder: RunFolder) -> None:
    """Write the pages about a finished run anew.

    These are the report, and its preview if it has one.
    """
    require_run(folder)
    from pcevolve.pages.anew import pages_anew

    for page in pages_anew(folder):
        typer.echo(page)
