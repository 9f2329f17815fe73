"""The command ``pcevolve-server bench``: loads as the server would, measures, prints."""

import asyncio
import json
import sys

import typer

from pcevolve_server import capacity, comparing, models
from pcevolve_server.engines import choice
from pcevolve_server.errors import ServerError, SettingsError
from pcevolve_server.settings import Settings


def run(settings: Settings, as_json: bool, compare: bool = False) -> None:
    """Measure and print; what is being measured is told on stderr.

    Args:
        settings: What to load and how.
        as_json: Print JSON.
        compare: Try what ways there are to use the cores, and say which is best.

    Raises:
        ModelLoadError: The model failed to load.
        SettingsError: The model makes no images, or there is nothing to compare.
    """
    found: comparing.Compared | capacity.Capacity
    found = asyncio.run(_compared(settings)) if compare else asyncio.run(_measured(settings))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())


async def _compared(settings: Settings) -> comparing.Compared:
    """What fails in the simplest way would in all; another way may fail alone, as where memory holds one model."""
    simplest, *others = comparing.ways(settings)
    if not models.on_processor(settings.model):
        raise SettingsError(
            "--compare tries ways to use a processor's cores: leave it out, or add --device cpu"
        )
    found = {simplest.flags: await _way_measured(simplest)}
    failed = {}
    for way in others:
        try:
            found[way.flags] = await _way_measured(way)
        except ServerError as error:
            failed[way.flags] = str(error)
    return comparing.Compared(found, failed)


async def _way_measured(way: comparing.Way) -> capacity.Capacity:
    return await _measured(way.settings, f"{way.flags}: ", ends=True)


async def _measured(settings: Settings, prefix: str = "", ends: bool = False) -> capacity.Capacity:
    def tell(what: str) -> None:
        _tell(prefix + what)

    tell("loading the model ...")
    engine = await choice.opening(settings, lambda: False)()
    try:
        return await capacity.measured(engine, settings, tell, ends)
    finally:
        await engine.close()
        if sys.stderr.isatty():
            _tell("")


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{what}", nl=False, err=True)
    else:
        typer.echo(what, err=True)
