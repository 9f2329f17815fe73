"""The command ``pcevolve-server bench``: loads a model as the server does, and prints its speed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import typer
from PIL import Image

from pcevolve_server.engines import Engine, choice
from pcevolve_server.errors import SettingsError
from pcevolve_server.queue.batching import BatchLimit
from pcevolve_server.settings import Settings
from pcevolve_server.work import Recipe, Task

SECONDS = 2.0  # that a figure is measured for, at least
_PROMPT = "a photograph"
_RUN_IMAGES = 3 * 500  # a run of three classes with 500 candidates each

Progress = Callable[[str], None]


def run(settings: Settings, as_json: bool) -> None:
    """Measure a model's speed, and print the figures. Progress goes to stderr.

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


def _tell(what: str) -> None:
    typer.echo(what, err=True)


@dataclass(frozen=True)
class Figure:
    """Figures of runs with one batch size.

    Attributes:
        verb: ``text-to-image`` or ``image-to-image``.
        images: Images in each run. Each replica does one run at a time.
        seconds: Seconds of a run.
        images_per_second: Rate of all replicas together.
    """

    verb: str
    images: int
    seconds: float
    images_per_second: float


@dataclass(frozen=True)
class Capacity:
    model: str
    size: str
    steps: int
    guidance: float
    strength: float | None
    replicas: int
    figures: tuple[Figure, ...]

    def as_json(self) -> dict[str, object]:
        """Return the measured and the derived figures, for output as JSON."""
        made = max(each.images_per_second for each in self.figures if each.verb == "text-to-image")
        return asdict(self) | {
            "lone_image_seconds": self.figures[0].seconds,
            "images_per_hour": round(3600 * made),
            "seconds_for_1500_candidates": round(_RUN_IMAGES / made, 1),
        }

    def as_text(self) -> str:
        """Return a table of the figures, and sentences with the derived figures."""
        varied = (
            "of a degree that the model sets" if self.strength is None else f"at strength {self.strength:g}"
        )
        implied = self.as_json()
        return "\n".join([
            f"{self.model}: {self.size} pixels, {self.steps} steps, guidance {self.guidance:g}, variations {varied};"
            f" replicas: {self.replicas}",
            f"{'':16}{'batch size':>14}{'seconds':>10}{'images/s':>10}",
            *(
                f"{each.verb:16}{each.images:14}{each.seconds:10.3g}{each.images_per_second:10.3g}"
                for each in self.figures
            ),
            f"That is {implied['images_per_hour']} images an hour in large batches; a single image takes"
            f" {implied['lone_image_seconds']:.2g} s. A pcevolve run with three classes of 500 candidates waits"
            f" {implied['seconds_for_1500_candidates']} seconds for its images.",
        ])  # fmt: skip


async def measure(engine: Engine, settings: Settings, tell: Progress) -> Capacity:
    """Time runs of 1, 2, 4 … images. All replicas run at the same time.

    Raises:
        SettingsError: The model makes no images.
    """
    info = engine.descriptions[0].info
    if info.base_resolution is None:
        raise SettingsError(f"{info.id} writes text, and bench measures only models that make images")
    best = info.recommended
    strength = round((best.strength_low + best.strength_high) / 2, 2) if best else 0.6
    asked, varied = Recipe.usual(info), Recipe.usual(info, strength)
    most = BatchLimit.of(asked, engine.descriptions[0], settings.model).most
    # Powers of two, up to the largest batch that the queue would make.
    sizes = [*(2**power for power in range(most.bit_length()) if 2**power < most), most]
    figures = []
    for verb, recipe in (("text-to-image", asked), ("image-to-image", varied)):
        for images in sizes:
            tell(f"{verb}, batch size {images} of at most {most}")
            figures.append(await _figure(engine, verb, recipe, images))
    size, told = f"{asked.width} x {asked.height}", strength if info.strengths else None
    return Capacity(info.id, size, asked.steps, asked.guidance, told, engine.replicas, tuple(figures))


async def _figure(engine: Engine, verb: str, recipe: Recipe, images: int) -> Figure:
    image = Image.linear_gradient("L").convert("RGB").resize((recipe.width, recipe.height))
    tasks = [
        Task(recipe, _PROMPT, "", seed, None if recipe.strength is None else image) for seed in range(images)
    ]
    await _run_on_all(engine, tasks)  # the first run of a size may choose kernels
    started, runs = time.monotonic(), 0
    while time.monotonic() - started < SECONDS:
        await _run_on_all(engine, tasks)
        runs += 1
    seconds = (time.monotonic() - started) / runs
    return Figure(verb, images, seconds, engine.replicas * images / seconds)


async def _run_on_all(engine: Engine, tasks: Sequence[Task]) -> None:
    await asyncio.gather(*(engine.run(tasks) for _ in range(engine.replicas)))
