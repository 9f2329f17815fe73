"""A model's first images or words: ready means that it made them, and one that cannot says why at the start."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from PIL import Image

from pcevolve_server.errors import ModelLoadError, NotFiniteError
from pcevolve_server.work import Model, Recipe, Task, TextRecipe, TextTask, Work, perform
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)


def try_out(model: Model) -> None:
    """Have a model make one of everything that it offers, in as few steps as there are, at its own size.

    Raises:
        ModelLoadError: It does not, with what may help.
    """
    started = time.monotonic()
    for what, work in _least(model.info):
        try:
            perform(model, [work])
        except Exception as error:
            reason = _reason(error)
            raise ModelLoadError(
                f"cannot serve {model.info.id}: it was loaded, but {what} fails: {reason}"
            ) from error
    logger.info("tried", extra={"model": model.info.id, "seconds": round(time.monotonic() - started, 2)})


def _least(info: ModelInfo) -> Iterator[tuple[str, Work]]:
    """Return a model's name and the smallest request of its kind."""
    if info.base_resolution is None:
        yield "writing a word", TextTask(TextRecipe(1, model=info.id), (("user", "A"),), 0)
        return
    size, guidance = info.size, 7.5 if info.recommended is None else info.recommended.guidance
    grey = Image.new("RGB", (size.width, size.height), "grey")

    def task(strength: float | None = None, adapter_scale: float | None = None) -> Task:
        recipe = Recipe(
            size.width,
            size.height,
            1,
            guidance,
            strength=strength,
            adapter_scale=adapter_scale,
            model=info.id,
        )
        return Task(recipe, "", "", 0, None if strength is None else grey)

    yield "drawing an image", task()
    if "image-to-image" in info.pipelines:
        yield "varying an image", task(0.5)
    if "ip-adapter" in info.pipelines:
        yield "drawing by an image", task(0.5, 0.5)


def _reason(error: Exception) -> str:
    said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if isinstance(error, NotFiniteError):
        return (
            "the image has values that are no numbers. Its networks overflow in this precision: --precision bfloat16 or"
            " float32; or its weights, mostly the autoencoder's (vae), are damaged"
        )
    if "out of memory" in str(error).lower():
        return f"the memory does not suffice. On a GPU, --offload on needs less of it; --precision decides, too. {said}"
    return said
