"""Progress of a request, for a caller who looks on while it waits and runs."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pcevolve_server.engines import ProgressCallback


class Progress:
    """The news of one request, of which only the latest is kept: who looks seldom, or not at all, holds up nothing.

    Lives on the event loop. News are a name and numbers:

    - ``queued``: nothing of it runs; ``ahead`` images are likely to run before it.
    - ``running``: a batch with images of it runs.
    - ``step``: that batch has done ``step`` of ``steps`` steps.

    Each also has ``images``, how many were asked for, and ``done``, how many of them are made.
    """

    def __init__(self) -> None:
        self._images = self._done = self._batches = 0
        self._latest: tuple[str, dict[str, int]] = "", {}
        self.changed = asyncio.Event()
        """Set when there are news since the last ones that were returned."""

    def expect(self, images: int) -> None:
        """The request asks for so many images."""
        self._images = images

    def waits(self, ahead: int) -> None:
        """Images of the request wait behind others; no news while others of its own run."""
        if not self._batches:
            self._tell("queued", ahead=ahead)

    def begins(self) -> None:
        """A batch with images of the request begins."""
        self._batches += 1
        self._tell("running")

    def step(self, step: int, steps: int) -> None:
        """A batch with images of the request has done a step."""
        self._tell("step", step=step, steps=steps)

    def ends(self, images: int) -> None:
        """A batch with so many images of the request is over; no news, for what it is worth comes next."""
        self._batches -= 1
        self._done += images

    def news(self) -> tuple[str, Mapping[str, int]]:
        """Return the latest; there are none before it was told anything."""
        self.changed.clear()
        return self._latest

    def _tell(self, name: str, **numbers: int) -> None:
        latest = name, {"images": self._images, "done": self._done, **numbers}
        if latest != self._latest:
            self._latest = latest
            self.changed.set()


@contextmanager
def show(parts: Iterable[tuple[Progress | None, int]]) -> Iterator[ProgressCallback]:
    """Tell those who look on that a batch begins and ends; yields what tells them of its steps.

    Args:
        parts: Who looks on at a part of the batch, and how many images it has.
    """
    images: Counter[Progress] = Counter()
    for progress, count in parts:
        if progress is not None:
            images[progress] += count
    for progress in images:
        progress.begins()

    def tell(step: int, steps: int) -> None:
        for progress in images:
            progress.step(step, steps)

    yield tell
    for progress, count in images.items():
        progress.ends(count)
