"""Batching: how large a batch may be, given its pixels, and how long an unfilled batch waits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.work import AnyRecipe, Recipe


@dataclass(frozen=True)
class BatchLimit:
    """The limit of a batch of one recipe; see ``Waiting.take``.

    Attributes:
        most: Largest number of images.
        merges: Whether requests of equal recipes may share a batch.
        least: A smaller batch costs as much as this many images.
    """

    most: int
    merges: bool
    least: int = 1

    @property
    def chunk(self) -> int:
        """Images of one request that always run together."""
        return 1 if self.merges else self.most

    @classmethod
    def of(cls, recipe: AnyRecipe, model: ModelDescription, settings: ModelSettings) -> BatchLimit:
        """Return a recipe's limit: the pixels of the largest batch of images of the model's own size."""
        size = model.bit_exact_batch_size
        most = own = settings.largest_batch(size)
        if isinstance(recipe, Recipe) and model.info.base_resolution is not None:
            pixels = model.info.batch_pixels or own * model.info.size.width * model.info.size.height
            most = max(1, min(own, pixels // recipe.pixels))
        if settings.batching is Batching.MERGE or size == 1:
            return cls(most, merges=settings.batching is Batching.MERGE)
        return cls(most, merges=True, least=min(most, size) if model.fixed_cost_batches else 1)


_SHARE, _LEAST_SECONDS, _MOST_SECONDS = 0.02, 0.004, 0.05
"""Length of a pause as a share of the last run's time, and its limits in seconds."""
_MOST_PAUSES = 20
_PATIENCE = 10
"""Number of pauses without a new request after which a batch starts with fewer images than expected."""

_REMEMBERED = 150
"""After this many pauses, or three runs, answered callers are not expected to return."""


class BatchWindow:
    """Decides how long a batch waits for more requests, based on how long the model's last run took.

    An image costs less in a larger batch, so waiting pays if new requests come soon. The batch waits in short pauses.
    Each pause takes a fiftieth of the last run's time, but at least 4 and at most 50 ms. Callers that were just
    answered are likely to send their next requests soon, but not all at once. If a free replica started with the first
    few requests, it would be busy when the rest arrive, and all replicas would stay half full. There is no wait if all
    expected callers have sent their requests, as with a single client.
    """

    def __init__(self) -> None:
        """Start without a last run. The first batch waits for the shortest time."""
        self._seconds, self._answered, self._ended = 0.0, 0, -math.inf

    def learn(self, seconds: float, images: int, waiting: int = 0) -> None:
        """Store how long the last run took, how many images it answered, and how many waited at its end."""
        self._seconds, self._answered = seconds, images + waiting
        self._ended = asyncio.get_running_loop().time()

    async def fill(self, limit: BatchLimit, waiting: Callable[[], int], stopping: Callable[[], bool]) -> None:
        """Return when a batch is full, when no new request comes, or after the longest wait.

        Args:
            waiting: Returns how many images that may share the batch are waiting now.
        """
        seen, quiet = waiting(), 0
        for _ in range(_MOST_PAUSES):
            if stopping() or seen >= limit.most or quiet >= self._patience(limit, seen):
                return
            await asyncio.sleep(self._pause)
            quiet = quiet + 1 if waiting() <= seen else 0
            seen = waiting()

    @property
    def _pause(self) -> float:
        return min(max(_LEAST_SECONDS, _SHARE * self._seconds), _MOST_SECONDS)

    @property
    def _expected(self) -> int:
        """Number of images that the last run answered or left waiting. 0 if that run is long ago."""
        ago = asyncio.get_running_loop().time() - self._ended
        return self._answered if ago < _REMEMBERED * self._pause else 0

    def _patience(self, limit: BatchLimit, seen: int) -> int:
        expected = min(limit.most, self._expected)
        if not expected:
            return 1
        return 0 if seen >= expected else _PATIENCE
