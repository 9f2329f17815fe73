"""``pcevolve-bench limits``: what PCEvolve can do at a budget, as one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import click

from pcevolve.app.cli.parameters import Flag

PUBLISHED = Path(__file__).parents[4] / "docs" / "results"
"""Of the repository, wherever the command is given."""


def limits(
    measured: Annotated[
        Path, Flag(help="Folder with selectors.json and figure7.json, which the page compares with.")
    ] = PUBLISHED,
    out: Annotated[Path, Flag(help="Folder for pcevolve.json, pcevolve.md and pcevolve.svg.")] = Path(
        "limits"
    ),
) -> None:
    """Work out what PCEvolve can do at epsilon 10, and write it as a page: seconds, without a server."""
    from pcevolve_benchmarks.limits.measured import read_measured
    from pcevolve_benchmarks.limits.page import figures, page, picture

    found = figures(*read_measured(measured))
    out.mkdir(parents=True, exist_ok=True)
    kept = json.dumps(found, indent=1, ensure_ascii=False)
    (out / "pcevolve.json").write_text(kept + "\n")
    (out / "pcevolve.md").write_text(page(json.loads(kept)))
    (out / "pcevolve.svg").write_bytes(picture(found))
    click.echo(json.dumps({"page": str(out / "pcevolve.md"), "best_tenth": found["best_case"]}))
