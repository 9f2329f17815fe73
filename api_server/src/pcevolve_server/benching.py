"""The command ``pcevolve-server bench``: loads as the server would, measures, prints."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

import typer
from PIL import Image

from pcevolve_server import models
from pcevolve_server.engines import Engine, choice
from pcevolve_server.errors import ServerError, SettingsError
from pcevolve_server.settings import EngineKind, Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.processors import count_cores
from pcevolve_shared.wire import ModelInfo

SECONDS = 2.0  # that a figure is measured for, at least
_PROMPT = "a photograph"
_RUN_IMAGES = 3 * 500  # a run of three classes with 500 candidates each

Progress = Callable[[str], None]
_WORTH = 1.1
"""Times that a way must be as fast as a simpler one before it is advised: processes hold the weights each."""


def run(settings: Settings, as_json: bool, compare: bool = False) -> None:
    """Measure and print; what is being measured is told on stderr.

    Args:
        compare: Try what ways there are to use the cores, and say which is best.

    Raises:
        ModelLoadError: The model failed to load.
        SettingsError: The model makes no images, or there is nothing to compare.
    """
    found = asyncio.run(_compare(settings)) if compare else asyncio.run(_measure(settings))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())


async def _compare(settings: Settings) -> Compared:
    """Measure all ways: a failure of the simplest is one of all; another way may fail alone, for want of memory."""
    simplest, *others = list_ways(settings)
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


async def _way_measured(way: Way) -> Capacity:
    return await _measure(way.settings, f"{way.flags}: ", ends=True)


async def _measure(settings: Settings, prefix: str = "", ends: bool = False) -> Capacity:
    def tell(what: str) -> None:
        _tell(prefix + what)

    tell("loading the model ...")
    engine = await choice.opening(settings, lambda: False)()
    try:
        return await measure(engine, settings, tell, ends)
    finally:
        await engine.close()
        if sys.stderr.isatty():
            _tell("")


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\033[K{what}", nl=False, err=True)
    else:
        typer.echo(what, err=True)


@dataclass(frozen=True)
class Figure:
    """Runs of one size.

    Attributes:
        verb: ``text-to-image`` or ``image-to-image``.
        images: In each run; as many runs go on at once as there are replicas.
        seconds: Of a run.
        images_per_second: Of all replicas together.
    """

    verb: str
    images: int
    seconds: float
    images_per_second: float

    def as_text(self) -> str:
        """A line of the table."""
        return f"{self.verb:16}{self.images:14}{self.seconds:10.3g}{self.images_per_second:10.3g}"


@dataclass(frozen=True)
class Capacity:
    """A measured model and its figures."""

    model: str
    size: str
    steps: int
    guidance: float
    strength: float | None
    replicas: int
    figures: tuple[Figure, ...]

    @property
    def subject(self) -> str:
        """A line about the model and the images that it drew."""
        varied = "to its own degree" if self.strength is None else f"at strength {self.strength:g}"
        return f"{self.model}: {self.size} pixels, {self.steps} steps, guidance {self.guidance:g}, variations {varied}"

    @property
    def lone_seconds(self) -> float:
        """Seconds of an image that nobody shares a run with."""
        return self.figures[0].seconds

    @property
    def best(self) -> dict[str, Figure]:
        """Of each verb the figure with most images per second."""
        verbs = dict.fromkeys(figure.verb for figure in self.figures)
        return {
            verb: max(
                (each for each in self.figures if each.verb == verb), key=lambda each: each.images_per_second
            )
            for verb in verbs
        }

    def as_json(self) -> dict[str, object]:
        """The figures for a program, with what they imply."""
        made = self.best["text-to-image"].images_per_second
        return asdict(self) | {
            "lone_image_seconds": self.lone_seconds,
            "images_per_hour": round(3600 * made),
            "seconds_for_1500_candidates": round(_RUN_IMAGES / made, 1),
        }

    def as_text(self) -> str:
        """A table, and what it implies."""
        lines = [
            f"{self.subject}; {self.replicas} at once",
            f"{'':16}{'images a run':>14}{'seconds':>10}{'images/s':>10}",
            *(figure.as_text() for figure in self.figures),
        ]
        implied = self.as_json()
        return "\n".join([
            *lines,
            f"That is {implied['images_per_hour']} images an hour for those who ask for many; a lone one takes"
            f" {implied['lone_image_seconds']:.2g} s.",
            "A run of pcevolve with three classes of 500 candidates waits"
            f" {_spell_seconds(float(str(implied['seconds_for_1500_candidates'])))} for its images.",
        ])  # fmt: skip


async def measure(engine: Engine, settings: Settings, tell: Progress, ends: bool = False) -> Capacity:
    """Time runs of one image, of two, of four and so on, on all replicas at once.

    Args:
        ends: Whether to time runs of one image and the largest ones alone.

    Raises:
        SettingsError: The model makes no images.
    """
    info = engine.descriptions[0].info
    if info.base_resolution is None:
        raise SettingsError(f"{info.id} writes text: bench measures models that make images")
    recipes = _recipes(info)
    asked_for = [(verb, images) for verb in recipes for images in _sizes(engine, settings, ends)]
    figures = []
    for number, (verb, images) in enumerate(asked_for, start=1):
        tell(f"{number} of {len(asked_for)}: {verb}, {images} images a run")
        figures.append(await _figure(engine, verb, recipes[verb], images))
    asked = recipes["text-to-image"]
    return Capacity(
        info.id,
        f"{asked.width} x {asked.height}",
        asked.steps,
        asked.guidance,
        recipes["image-to-image"].strength if info.strengths else None,
        engine.replicas,
        tuple(figures),
    )


def _recipes(info: ModelInfo) -> dict[str, Recipe]:
    size, found = info.size, info.recommended
    steps = found.steps if found else 50
    guidance = found.guidance if found else 7.5
    strength = round((found.strength_low + found.strength_high) / 2, 2) if found else 0.6
    return {
        "text-to-image": Recipe(size.width, size.height, steps, guidance),
        "image-to-image": Recipe(size.width, size.height, steps, guidance, strength=strength),
    }


def _sizes(engine: Engine, settings: Settings, ends: bool) -> Sequence[int]:
    """Powers of two up to the largest run that the queue would make; or the first and the last of them."""
    most = settings.largest_batch(engine.descriptions[0].bit_exact_batch_size)
    sizes = [*(2**power for power in range(most.bit_length()) if 2**power < most), most]
    return sorted({sizes[0], most}) if ends else sizes


async def _figure(engine: Engine, verb: str, recipe: Recipe, images: int) -> Figure:
    image = Image.linear_gradient("L").convert("RGB").resize((recipe.width, recipe.height))
    tasks = [
        Task(recipe, _PROMPT, "", seed, None if recipe.strength is None else image) for seed in range(images)
    ]
    await _all(engine, tasks)  # the first run of a size may choose kernels
    started, runs = time.monotonic(), 0
    while time.monotonic() - started < SECONDS:
        await _all(engine, tasks)
        runs += 1
    seconds = (time.monotonic() - started) / runs
    return Figure(verb, images, seconds, engine.replicas * images / seconds)


async def _all(engine: Engine, tasks: Sequence[Task]) -> None:
    await asyncio.gather(*(engine.run(tasks) for _ in range(engine.replicas)))


def _spell_seconds(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


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


def list_ways(settings: Settings) -> tuple[Way, ...]:
    """One thread, all cores on one model, and replicas that share the cores, the simplest first.

    Raises:
        SettingsError: One of these was chosen already.
    """
    if settings.engine is not EngineKind.THREAD or settings.replicas or settings.model.threads:
        raise SettingsError("--compare tries --engine, --replicas and --threads itself: leave them out")
    cores = count_cores()
    if cores == 1:
        return (_way(settings, EngineKind.THREAD, 0, 1),)
    return (
        _way(settings, EngineKind.THREAD, 0, 1),
        _way(settings, EngineKind.THREAD, 0, cores),
        _way(settings, EngineKind.PROCESSES, *choice.choose_replicas(cores)),
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
