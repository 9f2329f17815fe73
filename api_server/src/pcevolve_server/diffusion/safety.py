"""Safety checkers: new tries for refused images, and the checker of some Stable Diffusion releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image

from pcevolve_server.networks import weight
from pcevolve_server.work import Generator, IsCancelled, Picture, Task, generate, never_cancelled


class Checker(Protocol):
    """A safety checker, which decides whether a finished image must not be shown."""

    def flag(self, images: Sequence[Image.Image]) -> list[bool]:
        """Return for each image whether it must not be shown."""

    @property
    def memory(self) -> int:
        """Bytes of the checker's weights."""


class SafeGenerator:
    """A generator that never returns a flagged image, and draws such an image at most ``retries`` times again."""

    def __init__(self, inner: Generator, checker: Checker, retries: int) -> None:
        self._inner, self._checker, self._retries = inner, checker, retries
        self.info, self.on_gpu, self.memory = inner.info, inner.on_gpu, inner.memory + checker.memory

    @property
    def bit_exact_batch_size(self) -> int:
        """The model's own batch size, because each image is checked alone."""
        return self._inner.bit_exact_batch_size

    @property
    def fixed_cost_batches(self) -> bool:
        return self._inner.fixed_cost_batches

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Make new pictures or variations, as their recipe requires. A picture flagged on every try has no image."""
        pictures = [Picture(None) for _ in tasks]
        # Only flagged images are drawn again, each try with a new seed. The other images must not change.
        open_places = list(range(len(tasks)))
        for attempt in range(self._retries + 1):
            tries = [tasks[place].retry(attempt) if attempt else tasks[place] for place in open_places]
            made = generate(self._inner, tries, is_cancelled)
            flags = self._checker.flag([image for picture in made if (image := picture.image) is not None])
            for place, picture, flag in zip(open_places, made, flags, strict=True):
                pictures[place] = (
                    Picture(None, picture.cut_tokens, attempt + 1)
                    if flag
                    else replace(picture, refused=attempt)
                )
            open_places = [place for place, flag in zip(open_places, flags, strict=True) if flag]
            if not open_places:
                break
        return pictures

    vary = create


@dataclass(frozen=True)
class ModelChecker:
    """A pipeline's own ``safety_checker`` and ``feature_extractor``."""

    safety_checker: Any
    feature_extractor: Any

    @property
    def memory(self) -> int:
        return weight(self.safety_checker)

    def flag(self, images: Sequence[Image.Image]) -> list[bool]:
        """Return for each image whether the checker refuses it. Each image is checked alone."""
        return [self._refuses(image) for image in images]

    def _refuses(self, image: Image.Image) -> bool:
        weights = next(self.safety_checker.parameters())
        features = self.feature_extractor([image], return_tensors="pt").pixel_values
        with torch.inference_mode():
            _, flags = self.safety_checker(
                images=np.asarray(image, dtype=np.float32)[None] / 255,
                clip_input=features.to(device=weights.device, dtype=weights.dtype),
            )
        return bool(flags[0])
