"""The command ``pcevolve-server bench``: loads as the server would, measures, prints."""

import asyncio
import json
import sys

import typer

from pcevolve_server import capacity
from pcevolve_server.engines import choice
from pcevolve_server.settings import Settings


def run(settings: Settings, as_json: bool) -> None:
    """Measure and print; what is being measured is told on stderr.

    Raises:
        ModelLoadError: The model failed to load.
    """
    found = asyncio.run(_measured(settings))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())


async def _measured(settings: Settings) -> capacity.Capacity:
    _tell("loading the model ...")
    engine = await choice.opening(settings, lambda: False)()
    try:
        return await capacity.measured(engine, settings, _tell)
    finally:
        await engine.close()
        if sys.stderr.isatty():
            _tell("")


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{what}", nl=False, err=True)
    else:
        typer.echo(what, err=True)
