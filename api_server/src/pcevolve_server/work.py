"""What waits in the queue and runs in batches: images to make, and texts to write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard, overload

from pcevolve_server.errors import InvalidRequestError
from pcevolve_server.generator import Generator, Picture, Recipe, Task, Unwanted, generate, wanted
from pcevolve_server.writer import Completion, TextRecipe, TextTask, Writer
from pcevolve_shared.wire import ModelInfo

AnyRecipe: TypeAlias = Recipe | TextRecipe
Work: TypeAlias = Task | TextTask
Made: TypeAlias = Picture | Completion
Model: TypeAlias = Generator | Writer


@overload
def perform(model: Model, works: Sequence[Task], unwanted: Unwanted = ...) -> list[Picture]: ...
@overload
def perform(model: Model, works: Sequence[TextTask], unwanted: Unwanted = ...) -> list[Completion]: ...
@overload
def perform(model: Model, works: Sequence[Work], unwanted: Unwanted = ...) -> list[Made]: ...
def perform(
    model: Model, works: Sequence[Work], unwanted: Unwanted = wanted
) -> list[Picture] | list[Completion] | list[Made]:
    """Run one batch, in which all share a recipe.

    Raises:
        InvalidRequestError: The model is of the other kind.
    """
    texts = [each for each in works if isinstance(each, TextTask)]
    images = [each for each in works if isinstance(each, Task)]
    if texts and _writes(model):
        return model.write(texts, unwanted)
    if images and _paints(model):
        return generate(model, images, unwanted)
    raise InvalidRequestError("model: it does not make what was asked for")


def _writes(model: Model) -> TypeGuard[Writer]:
    return hasattr(model, "write")


def _paints(model: Model) -> TypeGuard[Generator]:
    return hasattr(model, "create")


def first(info: ModelInfo) -> Work:
    """The least that a model can be asked for; the first run of one takes longer than others."""
    if info.base_resolution is None:
        return TextTask(TextRecipe(1, model=info.id), (("user", "A"),), 0)
    size = info.size
    return Task(Recipe(size.width, size.height, steps=1, model=info.id), "", "", 0)


def stage_seconds(made: Sequence[Made]) -> dict[str, float]:
    """Return how long each stage of the run that made these, all of them, took."""
    stages: dict[str, float] = {}
    for each in made:
        for stage, share in each.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + share
    return stages
