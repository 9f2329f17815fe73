"""The command ``pcevolve-server bench``: loads as the server would, measures, prints."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import typer
from PIL import Image

from pcevolve_server.engines import Engine, choice
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.wire import ModelInfo

SECONDS = 2.0  # that a figure is measured for, at least
_PROMPT = "a photograph"
_RUN_IMAGES = 3 * 500  # a run of three classes with 500 candidates each

Progress = Callable[[str], None]


def run(settings: Settings, as_json: bool) -> None:
    """Measure and print; what is being measured is told on stderr.

    Raises:
        ModelLoadError: The model failed to load.
        SettingsError: The model makes no images.
    """
    found = asyncio.run(_measure(settings))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())


async def _measure(settings: Settings) -> Capacity:
    _tell("loading the model ...")
    engine = await choice.opening(settings, lambda: False)()
    try:
        return await measure(engine, settings, _tell)
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


async def measure(engine: Engine, settings: Settings, tell: Progress) -> Capacity:
    """Time runs of one image, of two, of four and so on, on all replicas at once.

    Raises:
        SettingsError: The model makes no images.
    """
    info = engine.descriptions[0].info
    if info.base_resolution is None:
        raise SettingsError(f"{info.id} writes text: bench measures models that make images")
    recipes = _recipes(info)
    asked_for = [(verb, images) for verb in recipes for images in _sizes(engine, settings)]
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


def _sizes(engine: Engine, settings: Settings) -> Sequence[int]:
    """Powers of two up to the largest run that the queue would make."""
    most = settings.model.largest_batch(engine.descriptions[0].bit_exact_batch_size)
    return [*(2**power for power in range(most.bit_length()) if 2**power < most), most]


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
