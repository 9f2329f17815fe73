"""One queue before one model: bounded, first come first served, batches of equal recipes.

The queue lives on the event loop and needs no lock; only finished batches go to the model's thread.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from pcevolve_server.errors import BusyError, GenerationError, NotReadyError, RequestError
from pcevolve_server.generator import Generator, Picture, Recipe, Task, generate
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import Batching

_MAX_RETRY_SECONDS = 600


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive tasks of one request; always run together."""

    tasks: Sequence[Task]
    future: asyncio.Future[list[Picture]]

    @property
    def recipe(self) -> Recipe:
        """The recipe (steps, size, strength and so on) that all tasks of the chunk share."""
        return self.tasks[0].recipe


class Batcher:
    """Runs requests on the model, one batch at a time.

    A request is cut into chunks of ``max_batch`` at places that depend on nothing but its own length.
    Under ``exact`` each chunk runs alone, so the same request gives the same bytes whatever else is
    going on; under ``merge`` chunks of equal recipes fill a batch together, which is faster for many
    small requests and moves an image by floating-point rounding.
    """

    def __init__(
        self,
        generator: Generator,
        executor: Executor,
        metrics: Metrics,
        *,
        max_batch: int,
        batching: Batching,
        queue_limit: int,
    ) -> None:
        self._generator, self._executor, self._metrics = generator, executor, metrics
        self._max_batch, self._batching, self._queue_limit = max_batch, batching, queue_limit
        self._chunks: deque[Chunk] = deque()
        self._requests = 0
        self._arrived = asyncio.Event()
        self._seconds_per_image = 1.0
        self._stopping = False
        self._worker = asyncio.create_task(self._work())

    async def submit(self, tasks: Sequence[Task]) -> list[Picture]:
        """Return the pictures of one request's tasks, in their order.

        Cancelling the caller takes out of the queue whatever has not begun.

        Raises:
            BusyError: The queue is full; nothing was queued.
            GenerationError: The model failed on a batch with one of the tasks.
            NotReadyError: The server began to stop.
        """
        if self._stopping:
            raise NotReadyError("the server is stopping", code="stopping", retry_after_seconds=5)
        if self._requests >= self._queue_limit:
            raise BusyError("the queue is full", retry_after_seconds=self._wait_seconds())
        chunks = [self._chunk(tasks[start : start + self._max_batch]) for start in self._starts(len(tasks))]
        self._chunks.extend(chunks)
        self._count(+1)
        self._arrived.set()
        try:
            return [picture for chunk in chunks for picture in await chunk.future]
        finally:
            self._count(-1)
            for chunk in chunks:
                chunk.future.cancel()

    async def close(self) -> None:
        """Let the running batch finish and refuse the rest."""
        self._stopping = True
        self._arrived.set()
        await self._worker
        for chunk in self._chunks:
            if not chunk.future.done():
                chunk.future.set_exception(NotReadyError("the server is stopping", code="stopping"))

    def _starts(self, count: int) -> range:
        return range(0, count, self._max_batch)

    def _chunk(self, tasks: Sequence[Task]) -> Chunk:
        return Chunk(tasks, asyncio.get_running_loop().create_future())

    def _count(self, change: int) -> None:
        self._requests += change
        self._metrics.waiting.set(self._requests)

    def _wait_seconds(self) -> int:
        images = sum(len(chunk.tasks) for chunk in self._chunks)
        return min(max(1, math.ceil(images * self._seconds_per_image)), _MAX_RETRY_SECONDS)

    async def _work(self) -> None:
        while not self._stopping:
            await self._arrived.wait()
            batch = [] if self._stopping else self._next_batch()
            if batch:
                await self._run(batch)
            else:
                self._arrived.clear()

    def _next_batch(self) -> list[Chunk]:
        """Take the oldest chunk off the queue and, when merging, those that fit beside it."""
        batch: list[Chunk] = []
        free = self._max_batch
        for chunk in list(self._chunks):
            if chunk.future.done():
                self._chunks.remove(chunk)
            elif len(chunk.tasks) <= free and (not batch or chunk.recipe == batch[0].recipe):
                self._chunks.remove(chunk)
                batch.append(chunk)
                free -= len(chunk.tasks)
                if self._batching is Batching.EXACT:
                    break
        return batch

    async def _run(self, batch: list[Chunk]) -> None:
        tasks = [task for chunk in batch for task in chunk.tasks]
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._executor, generate, self._generator, tasks)
        # gather hands over whatever the model raised; the worker has to outlive it.
        (outcome,) = await asyncio.gather(asyncio.shield(work), return_exceptions=True)
        seconds = time.monotonic() - started
        self._seconds_per_image += 0.3 * (seconds / len(tasks) - self._seconds_per_image)
        self._metrics.batches.observe(len(tasks))
        self._metrics.seconds.observe(seconds)
        _deliver(batch, outcome)


def _deliver(batch: list[Chunk], outcome: list[Picture] | BaseException) -> None:
    place = 0
    for chunk in batch:
        end = place + len(chunk.tasks)
        if chunk.future.done():
            pass
        elif isinstance(outcome, RequestError):
            chunk.future.set_exception(outcome)
        elif isinstance(outcome, BaseException):
            failure = GenerationError("the model failed on this request")
            failure.__cause__ = outcome
            chunk.future.set_exception(failure)
        else:
            chunk.future.set_result(outcome[place:end])
        place = end
