"""Try a model on its device with its settings before it is ready: its outputs, memory and exactness."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from PIL import Image

from pcevolve_server import faults
from pcevolve_server.errors import DeviceMemoryError, ModelLoadError, NotFiniteError
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.work import Made, Model, Picture, Recipe, Task, TextRecipe, TextTask, Work, perform
from pcevolve_shared.wire import Exactness, ModelInfo

logger = logging.getLogger(__name__)

_PROMPTS = ("A", "", "A steel surface", "A", "B")
"""Prompts of images that are drawn alone and together."""


@dataclass(frozen=True)
class TrialResult:
    """Limits and exactness of a model, found by trying the model out on its device.

    Attributes:
        batch_pixels: Largest number of pixels of a run for which the device has memory. None for texts.
        exact: How exactly a repeated request gives the same output.
        bit_exact_batch_size: The model's own value, unless the trial found a difference.
    """

    batch_pixels: int | None
    exact: Exactness
    bit_exact_batch_size: int


def try_out(model: Model, settings: ModelSettings, free: Callable[[], object] = lambda: None) -> TrialResult:
    """Let a model make one output of each kind that it offers, and find the largest batch that fits in memory.

    Unless batching is ``merge``, outputs made alone are also compared with outputs made in a batch or made again.

    Args:
        free: Releases the memory of a batch that did not fit.

    Raises:
        DeviceMemoryError: The device has no memory for one image of the model's own size.
        ModelLoadError: The model fails. The message names a possible remedy.
    """
    started, info, least = time.monotonic(), model.info, list[tuple[Work, object]]()
    for what, work in list_least_works(info):
        try:
            (answer,) = _spell(perform(model, [work]))
            least.append((work, answer))
        except Exception as error:
            kind = DeviceMemoryError if faults.is_out_of_memory(error) else ModelLoadError
            raise kind(
                f"cannot serve {info.id}: it was loaded, but {what} fails: {_explain(error)}"
            ) from error
    images = settings.largest_batch(model.bit_exact_batch_size)
    if model.on_gpu and info.base_resolution is not None:
        images = find_fitting_batch(model, images, free)
    exact, size = find_exactness(model, settings.batching, images, least)
    pixels = None if info.base_resolution is None else images * info.size.width * info.size.height
    facts = {"model": info.id, "exact": exact, "batch_images": images, "batch_pixels": pixels}
    logger.info("model tried", extra=facts | {"seconds": round(time.monotonic() - started, 2)})
    return TrialResult(pixels, exact, size)


def list_least_works(info: ModelInfo) -> Iterator[tuple[str, Work]]:
    """Yield, for each kind of output that a model offers, a description and the smallest request for it."""
    if info.base_resolution is None:
        yield "writing a word", TextTask(TextRecipe(1, model=info.id), (("user", "A"),), 0)
        return
    yield "drawing an image", _task(info, 0)
    if "image-to-image" in info.pipelines:
        yield "varying an image", _task(info, 0, strength=0.5)
    if "ip-adapter" in info.pipelines:
        yield "drawing from an image prompt", _task(info, 0, strength=0.5, adapter_scale=0.5)


def _task(
    info: ModelInfo, seed: int, strength: float | None = None, adapter_scale: float | None = None
) -> Task:
    """Return a task for an image of the model's own size in one step."""
    recipe = replace(Recipe.usual(info, strength), steps=1, adapter_scale=adapter_scale)
    grey = Image.new("RGB", (recipe.width, recipe.height), "grey")
    return Task(recipe, "", "", seed, None if strength is None else grey)


def find_fitting_batch(model: Model, images: int, free: Callable[[], object]) -> int:
    """Return how many images of a model's own size fit its device's memory: all, a half, a quarter and so on.

    A run of one step takes as much memory as a run of many.
    """
    while images > 1 and not _fits(model, images):
        free()
        images //= 2
    return images


def _fits(model: Model, images: int) -> bool:
    for strength in (None, 0.5) if "image-to-image" in model.info.pipelines else (None,):
        try:
            perform(model, [_task(model.info, seed, strength) for seed in range(images)])
        except Exception as error:
            if not faults.is_out_of_memory(error):
                raise ModelLoadError(
                    f"cannot serve {model.info.id}: a batch of {images} images fails: {_explain(error)}"
                ) from error
            return False
    return True


def find_exactness(
    model: Model, batching: Batching, images: int, least: Sequence[tuple[Work, object]]
) -> tuple[Exactness, int]:
    """Return how exactly a repeated request gives the same output, and how many tasks may share a run.

    Unless batching is ``merge``, each kind of output is made alone and in batches, on this device and with these
    settings. If batches give other bits or are not possible, each output of ``least`` is made alone once more.

    Args:
        least: One task for each kind of output, and the output that was made for it alone.
    """
    if batching is Batching.MERGE:
        return "merged", model.bit_exact_batch_size
    facts, shared = {"model": model.info.id}, min(model.bit_exact_batch_size, images)
    if shared > 1:
        if all(_agree(model, _vary(work), shared) for work, _ in least):
            return "shared", model.bit_exact_batch_size
        logger.warning(
            "images made in a batch differ from images made alone: each request runs alone", extra=facts
        )
    if all(_spell(perform(model, [work])) == [answer] for work, answer in least):
        return "alone", 1
    logger.warning("a repeated request gives different bytes: no answer is exact", extra=facts)
    return "no", 1


def _agree(model: Model, works: Sequence[Work], shared: int) -> bool:
    alone = [each for work in works for each in _spell(perform(model, [work]))]
    together = _spell(perform(model, works[:shared]))
    back = _spell(perform(model, works[:shared][::-1]))[::-1]
    return together == back == alone[:shared]


def _vary(work: Work) -> list[Work]:
    """Return works of one recipe with several seeds and prompts."""
    if isinstance(work, Task):
        return [replace(work, prompt=prompt, seed=seed) for seed, prompt in enumerate(_PROMPTS)]
    recipe = replace(work.recipe, tokens=4)
    return [TextTask(recipe, (("user", each or "?"),), seed) for seed, each in enumerate(_PROMPTS)]


def _spell(made: Sequence[Made]) -> list[object]:
    return [
        (each.image and (each.image.size, each.image.tobytes())) if isinstance(each, Picture) else each.text
        for each in made
    ]


def _explain(error: Exception) -> str:
    said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if isinstance(error, NotFiniteError):
        return (
            "the image has values that are not numbers. Either the networks overflow in this precision: try --precision"
            " bfloat16 or float32. Or weights are damaged, most often those of the autoencoder (vae)"
        )
    if faults.is_out_of_memory(error):
        return f"the device has too little memory. On a GPU, --offload on needs less; --precision may help. {said}"
    return said
