"""The command ``pcevolve-server bench``: loads as the server would, measures, prints."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import typer

from pcevolve_server import capacity, models
from pcevolve_server.capacity import Capacity
from pcevolve_server.engines import choice
from pcevolve_server.errors import ServerError, SettingsError
from pcevolve_server.settings import EngineKind, Settings

_WORTH = 1.1
"""Times that a way must be as fast as a simpler one before it is advised: processes hold the weights each."""


@dataclass(frozen=True)
class Way:
    """To use the cores of a machine.

    Attributes:
        flags: That make ``pcevolve-server serve`` do so.
        settings: The same.
    """

    flags: str
    settings: Settings


@dataclass(frozen=True)
class Compared:
    """The figures of each way, the simplest first.

    Attributes:
        capacities: By their flags.
        failed: Why others could not be measured.
    """

    capacities: dict[str, Capacity]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def advised(self) -> str:
        """Flags of the simplest way than which no other makes clearly more images per second."""
        speeds = {flags: _speed(each) for flags, each in self.capacities.items()}
        return next(flags for flags, speed in speeds.items() if speed * _WORTH >= max(speeds.values()))

    def as_json(self) -> dict[str, object]:
        """For a program."""
        return {
            "ways": {flags: asdict(each) for flags, each in self.capacities.items()},
            "failed": self.failed,
            "advised": self.advised,
        }

    def as_text(self) -> str:
        """A table, and what to do."""
        one = next(iter(self.capacities.values()))
        width = max(map(len, self.capacities)) + 2
        return "\n".join([
            one.subject,
            f"{'':{width}}{'lone image, s':>14}{'text-to-image/s':>17}{'image-to-image/s':>18}",
            *(_line(flags, each, width) for flags, each in self.capacities.items()),
            *(f"{flags} failed: {why}" for flags, why in self.failed.items()),
            f"Serve it with: {self.advised}",
        ])  # fmt: skip


def ways(settings: Settings) -> tuple[Way, ...]:
    """One thread, all cores on one model, and replicas that share the cores, the simplest first.

    Raises:
        SettingsError: One of these was chosen already.
    """
    if settings.engine is not EngineKind.THREAD or settings.replicas or settings.model.threads:
        raise SettingsError("--compare tries --engine, --replicas and --threads itself: leave them out")
    cores = choice.cores()
    if cores == 1:
        return (_way(settings, EngineKind.THREAD, 0, 1),)
    return (
        _way(settings, EngineKind.THREAD, 0, 1),
        _way(settings, EngineKind.THREAD, 0, cores),
        _way(settings, EngineKind.PROCESSES, *choice.unasked(cores)),
    )


def _way(settings: Settings, engine: EngineKind, replicas: int, threads: int) -> Way:
    chosen = replace(
        settings, engine=engine, replicas=replicas, model=replace(settings.model, threads=threads)
    )
    several = f"--engine {engine} --replicas {replicas} " if replicas else ""
    return Way(f"{several}--threads {threads}", chosen)


def _speed(capacity: Capacity) -> float:
    return capacity.best["text-to-image"].images_per_second


def _line(flags: str, capacity: Capacity, width: int) -> str:
    speeds: Sequence[float] = [figure.images_per_second for figure in capacity.best.values()]
    return f"{flags:{width}}{capacity.lone_seconds:14.3g}{speeds[0]:17.3g}{speeds[1]:18.3g}"


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
    found: Compared | capacity.Capacity
    found = asyncio.run(_compare(settings)) if compare else asyncio.run(_measure(settings))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())


async def _compare(settings: Settings) -> Compared:
    """Measure all ways: a failure of the simplest is one of all; another way may fail alone, for want of memory."""
    simplest, *others = ways(settings)
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
    return Compared(found, failed)


async def _way_measured(way: Way) -> capacity.Capacity:
    return await _measure(way.settings, f"{way.flags}: ", ends=True)


async def _measure(settings: Settings, prefix: str = "", ends: bool = False) -> capacity.Capacity:
    def tell(what: str) -> None:
        _tell(prefix + what)

    tell("loading the model ...")
    engine = await choice.opening(settings, lambda: False)()
    try:
        return await capacity.measure(engine, settings, tell, ends)
    finally:
        await engine.close()
        if sys.stderr.isatty():
            _tell("")


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{what}", nl=False, err=True)
    else:
        typer.echo(what, err=True)
