"""Models and their work: images and texts to make. Imports no model library."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

from PIL import Image

from pcevolve_server.errors import GenerationError, InvalidRequestError
from pcevolve_shared.wire import ModelInfo

if TYPE_CHECKING:  # NumPy takes a tenth of a second to import
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Recipe:
    """Settings that all images of one batch share. Equal recipes may share a batch.

    Attributes:
        strength: Share of the noise schedule that a variation runs through. ``None`` for a new image.
        adapter_scale: Weight of the image prompt. ``None`` runs without the adapter.
        scheduler: ``None`` takes the model's recommended scheduler.
        model: Id of the model, if there are several. Empty: the first.
    """

    width: int
    height: int
    steps: int = 50
    guidance: float = 7.5
    scheduler: str | None = None
    strength: float | None = None
    adapter_scale: float | None = None
    model: str = ""

    @classmethod
    def usual(cls, info: ModelInfo, strength: float | None = None) -> Recipe:
        """Return a model's recommended recipe, at its own size."""
        size, best = info.size, info.recommended
        steps, guidance = (cls.steps, cls.guidance) if best is None else (best.steps, best.guidance)
        return cls(size.width, size.height, steps, guidance, strength=strength, model=info.id)

    @property
    def pixels(self) -> int:
        """Pixels of one image."""
        return self.width * self.height

    @property
    def cost(self) -> int:
        """Cost of an image in the queue: its pixels, times the approximate number of the denoiser's runs."""
        return self.pixels * max(1, math.ceil(self.steps * (1 if self.strength is None else self.strength)))


@dataclass(frozen=True)
class Task:
    """One image to make.

    Attributes:
        image: The image from which a variation starts.
        caller: The caller. A model caches prompts and images of each caller separately.
    """

    recipe: Recipe
    prompt: str = field(repr=False)
    negative_prompt: str = field(repr=False)
    seed: int
    image: Image.Image | None = field(default=None, repr=False)
    caller: str = field(default="", repr=False)

    def start(self) -> Image.Image:
        """Return the image from which a variation starts, resized to the recipe's size.

        Raises:
            GenerationError: There is no image.
        """
        if self.image is None:
            raise GenerationError("a variation was requested without an image")
        size = (self.recipe.width, self.recipe.height)
        return self.image if self.image.size == size else self.image.resize(size, Image.Resampling.LANCZOS)

    def retry(self, attempt: int) -> Task:
        """Return the same task with the seed of its ``attempt``-th retry, which depends on seed and attempt alone."""
        digest = hashlib.sha256(f"retry:{self.seed}:{attempt}".encode()).digest()
        return replace(self, seed=int.from_bytes(digest[:4], "big"))


@dataclass(frozen=True)
class Picture:
    """The image that was made for a task.

    Attributes:
        made: The image, or its pixels, uint8 ``(height, width, 3)``. ``None`` if the safety checker refused every
            try.
        cut_tokens: Tokens of the prompt that the text encoder does not read. They are dropped from its end.
        refused: Number of tries that the safety checker refused.
        seconds: For each stage of the run, this task's share of the seconds. Empty if stages are not measured.
    """

    made: Image.Image | NDArray[np.uint8] | None
    cut_tokens: int = 0
    refused: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def image(self) -> Image.Image | None:
        """The image. Pixels are converted only here, so that the model's thread can run the next batch meanwhile."""
        if self.made is None or isinstance(self.made, Image.Image):
            return self.made
        return Image.fromarray(self.made)


IsCancelled = Callable[[], bool]
"""Returns whether the batch was cancelled, by its callers or its engine. Called within its steps."""


def never_cancelled() -> bool:
    return False


class Loaded(Protocol):
    """A model in memory. Used from one thread only."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def bit_exact_batch_size(self) -> int:
        """Largest number of tasks that can run together without changing a bit of each other's outputs.

        1 if a task always changes the outputs of others.
        """

    @property
    def fixed_cost_batches(self) -> bool:
        """True if a run costs the same with one task as with a full batch."""

    @property
    def on_gpu(self) -> bool:
        """True if a run uses memory of a GPU, which is limited."""

    @property
    def memory(self) -> int:
        """Bytes of the idle model: its weights, or its index."""


class Generator(Loaded, Protocol):
    """A text-to-image and image-to-image model.

    A task's picture depends on that task alone. If a batch is larger than ``bit_exact_batch_size``, a change of its
    size may change the picture by floating-point rounding. Batches of one size give the same bits.
    """

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make images from prompts, in the order of the tasks, which share one recipe.

        Raises:
            AbandonedError: The run was cancelled.
        """

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make variations of the tasks' images, like :meth:`create`."""


def generate(
    generator: Generator, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled
) -> list[Picture]:
    """Run one batch. Its recipe decides between new images and variations."""
    if tasks[0].recipe.strength is None:
        return generator.create(tasks, is_cancelled)
    return generator.vary(tasks, is_cancelled)


@dataclass(frozen=True)
class TextRecipe:
    """Settings that all completions of one batch share. Equal recipes may share a batch.

    Attributes:
        tokens: Largest number of tokens of a completion.
        temperature: 0 always takes the likeliest token.
        top_p: Tokens are drawn from the likeliest tokens that together have this probability.
        stops: Strings that end a completion, and are not part of it.
        model: Id of the model. Empty: the first.
    """

    tokens: int = 256
    temperature: float = 1.0
    top_p: float = 1.0
    stops: tuple[str, ...] = ()
    model: str = ""

    @property
    def cost(self) -> int:
        """Largest cost of a completion, as in ``Recipe.cost``. A token costs a step of an image of 64 x 64 pixels."""
        return self.tokens * 64 * 64


@dataclass(frozen=True)
class TextTask:
    """One completion to write.

    Attributes:
        recipe: Settings of the completion.
        messages: The chat's messages, as (role, text).
        seed: Seed of its random draws.
    """

    recipe: TextRecipe
    messages: tuple[tuple[str, str], ...] = field(repr=False)
    seed: int


@dataclass(frozen=True)
class Completion:
    """The text that was written for a task.

    Attributes:
        text: The model's text, without its end mark.
        finish: Whether the text ended by itself, or reached the limit.
        prompt_tokens: Number of tokens read.
        tokens: Number of tokens written.
        cut_tokens: Number of tokens dropped from the prompt's beginning, because they exceed the model's context.
        seconds: For each stage of the run, this task's share of the seconds.
    """

    text: str = field(repr=False)
    finish: Literal["stop", "length"]
    prompt_tokens: int
    tokens: int
    cut_tokens: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)


class Writer(Loaded, Protocol):
    """A language model. A completion depends on its task alone, up to rounding."""

    def write(
        self, tasks: Sequence[TextTask], is_cancelled: IsCancelled = never_cancelled
    ) -> list[Completion]:
        """Write completions, in the order of the tasks, which share one recipe.

        Raises:
            AbandonedError: The run was cancelled.
        """


AnyRecipe: TypeAlias = Recipe | TextRecipe
Work: TypeAlias = Task | TextTask
Made: TypeAlias = Picture | Completion
Model: TypeAlias = Generator | Writer


def perform(model: Model, works: Sequence[Work], is_cancelled: IsCancelled = never_cancelled) -> list[Made]:
    """Run one batch. Its tasks share a recipe.

    Raises:
        InvalidRequestError: The model does not make this kind of output.
    """
    texts = [each for each in works if isinstance(each, TextTask)]
    images = [each for each in works if isinstance(each, Task)]
    if texts and hasattr(model, "write"):
        return [*model.write(texts, is_cancelled)]
    if images and hasattr(model, "create"):
        return [*generate(cast(Generator, model), images, is_cancelled)]
    raise InvalidRequestError("model: this model does not make this kind of output")


def stage_seconds(made: Sequence[Made]) -> dict[str, float]:
    """Return the seconds of each stage of a run.

    Args:
        made: All results of the run.
    """
    stages: dict[str, float] = {}
    for each in made:
        for stage, share in each.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + share
    return stages
