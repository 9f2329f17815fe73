"""The images that this machine makes of a model: what ``pcevolve-server bench`` measures and says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from PIL import Image

from pcevolve_server.engines import Engine
from pcevolve_server.errors import SettingsError
from pcevolve_server.model_settings import Batching
from pcevolve_server.settings import Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.wire import ModelInfo

_SECONDS = 2.0  # that a figure is measured for, at least
_PROMPT = "a photograph"
_RUN_IMAGES = 3 * 500  # a run of three classes with 500 candidates each

Progress = Callable[[str], None]


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
    strength: float
    replicas: int
    figures: tuple[Figure, ...]

    @property
    def subject(self) -> str:
        """A line about the model and the images that it drew."""
        return (
            f"{self.model}: {self.size} pixels, {self.steps} steps, guidance {self.guidance:g}, variations at strength"
            f" {self.strength:g}"
        )

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
        """The same for a program, with what it implies."""
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
            f" {_spoken(float(str(implied['seconds_for_1500_candidates'])))} for its images.",
        ])  # fmt: skip


async def measure(engine: Engine, settings: Settings, tell: Progress, ends: bool = False) -> Capacity:
    """Time runs of one image, of two, of four and so on, on all replicas at once.

    Args:
        engine: Has the model.
        settings: Its own, and the queue's.
        tell: Told what is being measured.
        ends: Whether to time runs of one image and the largest ones alone.

    Raises:
        SettingsError: The model makes no images.
    """
    info = engine.offers[0].info
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
        recipes["image-to-image"].strength or 0.0,
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
    companions = engine.offers[0].companions
    loose = settings.model.batching is Batching.MERGE or companions == 1
    most = settings.max_batch if loose else companions
    sizes = [*(2**power for power in range(most.bit_length()) if 2**power < most), most]
    return sorted({sizes[0], most}) if ends else sizes


async def _figure(engine: Engine, verb: str, recipe: Recipe, images: int) -> Figure:
    image = Image.linear_gradient("L").convert("RGB").resize((recipe.width, recipe.height))
    tasks = [
        Task(recipe, _PROMPT, "", seed, None if recipe.strength is None else image) for seed in range(images)
    ]
    await _all(engine, tasks)  # the first run of a size may choose kernels
    started, runs = time.monotonic(), 0
    while time.monotonic() - started < _SECONDS:
        await _all(engine, tasks)
        runs += 1
    seconds = (time.monotonic() - started) / runs
    return Figure(verb, images, seconds, engine.replicas * images / seconds)


async def _all(engine: Engine, tasks: Sequence[Task]) -> None:
    await asyncio.gather(*(engine.run(tasks) for _ in range(engine.replicas)))


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
