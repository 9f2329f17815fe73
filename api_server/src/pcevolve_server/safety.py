"""What happens to images that a safety checker refuses; knows no particular checker."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from PIL import Image

from pcevolve_server.generator import Generator, Picture, Task, Unwanted, generate, wanted
from pcevolve_shared.wire import ModelInfo


class Checker(Protocol):
    """A safety checker: says which finished images must not be shown."""

    def flagged(self, images: Sequence[Image.Image]) -> list[bool]:
        """Return for each image whether it must not be shown."""

    @property
    def memory(self) -> int:
        """Bytes that the checker takes."""


@dataclass(frozen=True)
class SafeGenerator:
    """A generator that never returns a flagged image and gives up after ``retries`` further tries."""

    inner: Generator
    checker: Checker
    retries: int

    @property
    def info(self) -> ModelInfo:
        """What the model behind the checker can do."""
        return self.inner.info

    @property
    def companions(self) -> int:
        """As of the model behind the checker, which looks at each image for itself."""
        return self.inner.companions

    @property
    def padded(self) -> bool:
        """As of the model behind the checker."""
        return self.inner.padded

    @property
    def memory(self) -> int:
        """Bytes of the model and its checker."""
        return self.inner.memory + self.checker.memory

    def create(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make pictures from prompts; one that was flagged on every try has no image."""
        return self._checked(tasks, unwanted)

    def vary(self, tasks: Sequence[Task], unwanted: Unwanted = wanted) -> list[Picture]:
        """Make variations of the tasks' images; one that was flagged on every try has no image."""
        return self._checked(tasks, unwanted)

    def _checked(self, tasks: Sequence[Task], unwanted: Unwanted) -> list[Picture]:
        pictures = [Picture(image=None) for _ in tasks]
        open_places = list(range(len(tasks)))
        for attempt in range(self.retries + 1):
            tries = [tasks[place].retried(attempt) if attempt else tasks[place] for place in open_places]
            made = generate(self.inner, tries, unwanted)
            flags = self.checker.flagged([picture.image for picture in made if picture.image is not None])
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
