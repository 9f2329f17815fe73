"""What the server asks of a model: two verbs over batches; imports no model library."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from PIL import Image

from pcevolve_shared.wire import ModelInfo


@dataclass(frozen=True)
class Recipe:
    """What all images of one batch have in common; equal recipes may share a batch.

    Attributes:
        width: Pixels.
        height: Pixels.
        strength: Share of the noise schedule that a variation runs through; ``None`` for a creation.
        adapter_scale: Weight of the image prompt; ``None`` runs without the adapter.
        scheduler: ``None`` takes the one that the model is best asked with, which ``recommended`` names.
        model: Id of the model, where there are several; empty: the first.
    """

    width: int
    height: int
    steps: int = 50
    guidance: float = 7.5
    scheduler: str | None = None
    strength: float | None = None
    adapter_scale: float | None = None
    model: str = ""

    @property
    def runs(self) -> int:
        """Runs of the denoiser for an image, about: what a place in the queue costs."""
        return max(1, math.ceil(self.steps * (1 if self.strength is None else self.strength)))


@dataclass(frozen=True)
class Task:
    """One image to make; ``image`` is what a variation starts from."""

    recipe: Recipe
    prompt: str = field(repr=False)
    negative_prompt: str = field(repr=False)
    seed: int
    image: Image.Image | None = field(default=None, repr=False)

    def retried(self, attempt: int) -> "Task":
        """Return the same task under the seed of its ``attempt``-th retry, a function of both alone."""
        digest = hashlib.sha256(f"retry:{self.seed}:{attempt}".encode()).digest()
        return replace(self, seed=int.from_bytes(digest[:4], "big"))


@dataclass(frozen=True)
class Picture:
    """What became of a task.

    Attributes:
        image: ``None`` if the safety checker refused every try.
        cut_tokens: Tokens of the prompt beyond what the text encoder reads, dropped from its end.
        refused: Tries that the safety checker refused.
        seconds: Its share of each stage of the run that made it; empty where nobody measures.
    """

    image: Image.Image | None
    cut_tokens: int = 0
    refused: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)


class Unwanted(Protocol):
    """Whether nobody waits for a batch any more; asked between its steps."""

    def __call__(self, step: int = 0, steps: int = 0) -> bool:
        """Return whether to give up.

        Args:
            step: The one that was just done, from 1; 0 where steps are not counted.
            steps: How many there are; 0 where that is not known.
        """


def wanted(step: int = 0, steps: int = 0) -> bool:
    """Whatever happens."""
    return False


class Loaded(Protocol):
    """A model in memory; used from one thread only."""

    @property
    def info(self) -> ModelInfo:
        """What the model can do: its name, sizes, schedulers and adapters."""

    @property
    def companions(self) -> int:
        """Tasks in a run that do not show in each other's bits, of any number up to this one; 1 if they do show."""

    @property
    def padded(self) -> bool:
        """Whether a run costs the same with one task as with all of its companions."""

    @property
    def memory(self) -> int:
        """Bytes that the model takes while nothing runs: its weights, or its index."""


class Generator(Loaded, Protocol):
    """A text-to-image and image-to-image model.

    A task's picture depends on that task alone, up to floating-point rounding when the size of the batch changes
    beyond ``companions``; for batches of one size it is the same to the bit, whatever else is in them.
    """

    def create(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make images from prompts; the tasks share one recipe and the answer keeps their order.

        Raises:
            AbandonedError: It was not wanted any more.
        """

    def vary(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make variations of the tasks' images; otherwise as :meth:`create`."""


def generate(generator: Generator, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
    """Run one batch with the verb that its recipe calls for."""
    if tasks[0].recipe.strength is None:
        return generator.create(tasks, unwanted)
    return generator.vary(tasks, unwanted)
