"""The queue: callers take turns, equal recipes share batches, and the engine runs several batches at once.

The queue lives on the event loop and needs no lock. Only complete batches go to the engine.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from pcevolve_server import tracing
from pcevolve_server.engines import Engine
from pcevolve_server.errors import AbandonedError, DeadlineError, EngineLostError, NotReadyError
from pcevolve_server.metrics import Metrics
from pcevolve_server.queue.batching import BatchLimit, BatchWindow
from pcevolve_server.queue.waiting import Chunk, Waiting, deliver
from pcevolve_server.settings import Settings
from pcevolve_server.work import AnyRecipe, Completion, Made, Picture, Task, TextTask, Work, stage_seconds

logger = logging.getLogger(__name__)


def _stopping() -> NotReadyError:
    return NotReadyError("the server is stopping", code="stopping", retry_after_seconds=5)


class Batcher:
    """Runs requests on the model, a batch at a time for each replica.

    If a picture has the same bits in any batch, images of equal recipes share a batch across requests. Under
    ``merge`` they always do. Otherwise a request is cut into chunks, and each chunk runs alone. The cuts depend only on
    the request's number of images and on their size. Therefore the same request gives the same bytes at any load,
    except under ``merge``.
    """

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        settings: Settings,
        on_lost: Callable[[EngineLostError], None] = lambda _: None,
    ) -> None:
        """Start to wait for requests.

        Args:
            on_lost: Called if the engine is lost for good, after the callers of its batch have got the error.
        """
        self._engine, self._metrics, self._settings = engine, metrics, settings
        self._on_lost = on_lost
        self._waiting = Waiting(
            settings.queue_megapixel_steps * 10**6, settings.queue_megapixel_steps_per_key * 10**6
        )
        self._arrived = asyncio.Event()
        self._windows = defaultdict[str, BatchWindow](BatchWindow)  # by model
        self._seconds_each = 0.0
        self._refusal: Callable[[], NotReadyError] | None = None
        self._free = asyncio.Semaphore(engine.replicas)
        self._running: dict[asyncio.Task[None], list[Chunk]] = {}
        self._worker = asyncio.create_task(self._work())
        self._worker.add_done_callback(self._notice_end)

    @overload
    async def submit(self, tasks: Sequence[Task], caller: str = ...) -> list[Picture]: ...
    @overload
    async def submit(self, tasks: Sequence[TextTask], caller: str = ...) -> list[Completion]: ...
    async def submit(self, tasks: Sequence[Work], caller: str = "") -> list[Any]:
        """Return the results of one request's tasks, in the tasks' order.

        If the call is cancelled, tasks that have not begun leave the queue. A running batch that has no other tasks
        ends within its current step.

        Args:
            caller: The caller whose turn is used.

        Raises:
            BusyError: The queue is full. Nothing was queued.
            DeadlineError: The time limit has passed.
            GenerationError: The model failed on one of the tasks, or on a chunk that contains it.
            NotReadyError: The server is stopping.
        """
        if self._refusal is not None:
            raise self._refusal()
        chunks = self._chunks(tasks, caller)
        self._waiting.add(chunks, self._seconds_each / self._engine.replicas)
        self._count()
        self._arrived.set()
        try:
            async with asyncio.timeout(self._settings.deadline_seconds or None):
                return [made for chunk in chunks for made in await chunk.future]
        except TimeoutError as error:
            seconds = self._settings.deadline_seconds
            raise DeadlineError(f"not done within {seconds:g} seconds", retry_after_seconds=5) from error
        finally:
            for chunk in chunks:
                chunk.future.cancel()
            self._waiting.forget_done()
            self._count()

    def refuse(self, why: Callable[[], NotReadyError] = _stopping, running: bool = True) -> None:
        """Refuse all waiting and future requests.

        Args:
            why: Makes the error for each request.
            running: Whether to end running batches, too, within their current step.
        """
        self._refusal = self._refusal or why
        self._arrived.set()
        run = [chunk for batch in self._running.values() for chunk in batch] if running else []
        for chunk in (*self._waiting.drain(), *run):
            if not chunk.future.done():
                chunk.future.set_exception(why())

    async def close(self) -> None:
        """Refuse waiting requests, and let running ones finish."""
        self.refuse(running=False)
        await asyncio.gather(self._worker, return_exceptions=True)  # it may have failed long ago
        await asyncio.gather(*self._running)

    def _limit(self, recipe: AnyRecipe) -> BatchLimit:
        # Computed each time, because more may be known by now about the device's memory.
        models = self._engine.descriptions
        model = next((each for each in models if each.info.id == recipe.model), models[0])
        return BatchLimit.of(recipe, model, self._settings.model)

    def _chunks(self, tasks: Sequence[Work], caller: str) -> list[Chunk]:
        loop, size = asyncio.get_running_loop(), self._limit(tasks[0].recipe).chunk
        span = tracing.get_span()
        return [
            Chunk(caller, tasks[start : start + size], loop.create_future(), loop.time(), span)
            for start in range(0, len(tasks), size)
        ]

    def _next_batch(self) -> list[Chunk]:
        first = self._waiting.next
        if first is None:
            return []
        limit = self._limit(first.recipe)
        return self._waiting.take(limit.most, limit.merges, limit.least)

    def _count(self) -> None:
        self._metrics.waiting.set(self._waiting.images)

    async def _work(self) -> None:
        while self._refusal is None:
            await self._arrived.wait()
            await self._free.acquire()
            await self._wait_for_company()
            batch = self._next_batch()
            self._count()
            if batch:
                run = asyncio.create_task(self._run(batch))
                self._running[run] = batch
                run.add_done_callback(self._finish)
            else:
                self._free.release()
                self._arrived.clear()

    def _notice_end(self, worker: asyncio.Task[None]) -> None:
        """End the server if the queue fails. Otherwise the server would claim to be ready and answer no request."""
        if not worker.cancelled() and (error := worker.exception()) is not None:
            logger.error("the queue failed", exc_info=error)
            self._on_lost(EngineLostError("the queue failed: restart the server"))

    def _finish(self, run: asyncio.Task[None]) -> None:
        del self._running[run]
        self._free.release()

    async def _wait_for_company(self) -> None:
        """Wait a short time for a batch to fill, if requests may share the batch."""
        first = self._waiting.next
        if first is None:
            return
        recipe, limit = first.recipe, self._limit(first.recipe)
        if limit.merges:
            window = self._windows[recipe.model]
            await window.fill(limit, lambda: self._waiting.alike(recipe), lambda: self._refusal is not None)

    async def _run(self, batch: list[Chunk]) -> None:
        self._observe("wait", asyncio.get_running_loop().time() - min(chunk.since for chunk in batch))
        outcome = await self._attempt(batch)
        failed = isinstance(outcome, Exception) and not isinstance(outcome, (AbandonedError, EngineLostError))
        if len(batch) == 1 or not failed:
            self._conclude(batch, outcome)
            return
        # Several callers share the batch, and none should suffer from another's task.
        for chunk in batch:
            if not chunk.future.done():
                self._conclude([chunk], await self._attempt([chunk]))

    async def _attempt(self, batch: list[Chunk]) -> list[Made] | BaseException:
        tasks = [task for chunk in batch for task in chunk.tasks]
        loop = asyncio.get_running_loop()
        started = loop.time()
        work = asyncio.ensure_future(self._engine.run(tasks))
        nobody_waits = asyncio.gather(*(chunk.future for chunk in batch), return_exceptions=True)
        nobody_waits.add_done_callback(lambda _: work.cancel())
        # gather returns any error of the model, because the worker has to survive it.
        (outcome,) = await asyncio.gather(work, return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError):
            return outcome
        self._learn(batch, loop.time() - started)
        stages = self._tell(outcome) if isinstance(outcome, list) else {}
        # Recorded before the requests continue, because their spans must end after the spans of their parts.
        tracing.record_run(((chunk.span, chunk.since) for chunk in batch), started, len(tasks), stages)
        return outcome

    def _conclude(self, batch: list[Chunk], outcome: list[Made] | BaseException) -> None:
        deliver(batch, outcome)
        if isinstance(outcome, EngineLostError):
            self._on_lost(outcome)

    def _tell(self, made: list[Made]) -> Mapping[str, float]:
        self._metrics.rejected.inc(sum(each.refused for each in made if isinstance(each, Picture)))
        stages = stage_seconds(made)
        for stage, seconds in stages.items():
            self._observe(stage, seconds)
        return stages

    def _observe(self, stage: str, seconds: float) -> None:
        self._metrics.stages.labels(stage).observe(seconds)

    def _learn(self, batch: list[Chunk], seconds: float) -> None:
        images = sum(len(chunk.tasks) for chunk in batch)
        recipe = batch[0].recipe
        self._windows[recipe.model].learn(seconds, images, self._waiting.alike(recipe))
        each = seconds / sum(chunk.cost for chunk in batch)
        self._seconds_each += (0.3 if self._seconds_each else 1.0) * (each - self._seconds_each)
        self._metrics.batches.observe(images)
        self._metrics.seconds.observe(seconds)
