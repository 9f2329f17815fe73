"""One model behind one queue: callers take turns, batches of equal recipes, as many at once as the engine runs.

The queue lives on the event loop and needs no lock; only finished batches go to the engine.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from pcevolve_server import tracing
from pcevolve_server.engines import Engine, ProgressCallback
from pcevolve_server.errors import AbandonedError, DeadlineError, EngineLostError, NotReadyError
from pcevolve_server.metrics import Metrics
from pcevolve_server.queue.gathering import BatchLimits, Gathering
from pcevolve_server.queue.progress import Progress, show
from pcevolve_server.queue.waiting import Chunk, Waiting, deliver
from pcevolve_server.settings import Settings
from pcevolve_server.work import Completion, Made, Picture, Task, TextTask, Work, stage_seconds


class Batcher:
    """Runs requests on the model, a batch at a time for each of its replicas.

    Where a picture is the same to the bit in any batch, and under ``merge``, images of equal recipes fill a batch
    whoever asked for them. Elsewhere a request is cut into chunks of ``max_batch`` at places that depend on nothing but
    its own length, and each runs alone, so that the same request gives the same bytes whatever else is going on.
    """

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        settings: Settings,
        on_lost: Callable[[EngineLostError], None] = lambda _: None,
    ) -> None:
        """Begin to wait for requests.

        Args:
            on_lost: Told when the engine is lost for good, after those whose batch it had.
        """
        self._engine, self._metrics, self._settings = engine, metrics, settings
        self._on_lost = on_lost
        self._limits = BatchLimits(engine.descriptions, settings)
        self._waiting = Waiting(settings.queue_steps, settings.queue_steps_per_key)
        self._arrived = asyncio.Event()
        self._gatherings = defaultdict[str, Gathering](Gathering)  # by model
        self._seconds_each = 0.0
        self._stopping = False
        self._free = asyncio.Semaphore(engine.replicas)
        self._running: dict[asyncio.Task[None], list[Chunk]] = {}
        self._worker = asyncio.create_task(self._work())

    @overload
    async def submit(
        self, tasks: Sequence[Task], caller: str = ..., progress: Progress | None = ...
    ) -> list[Picture]: ...
    @overload
    async def submit(
        self, tasks: Sequence[TextTask], caller: str = ..., progress: Progress | None = ...
    ) -> list[Completion]: ...
    async def submit(
        self, tasks: Sequence[Work], caller: str = "", progress: Progress | None = None
    ) -> list[Any]:
        """Return what became of one request's tasks, in their order.

        Cancelling the caller takes out of the queue whatever has not begun, and ends a batch that nobody wants any more
        after its current step.

        Args:
            caller: Whose turn it takes.

        Raises:
            BusyError: Too much waits; nothing was queued.
            DeadlineError: It took too long.
            GenerationError: The model failed on one of the tasks, or on those that always run together with it.
            NotReadyError: The server began to stop.
        """
        if self._stopping:
            raise _stopping()
        chunks = self._chunks(tasks, caller, progress)
        self._waiting.add(chunks, self._seconds_each / self._engine.replicas)
        if progress is not None:
            progress.expect(len(tasks))
            self._waiting.tell(self._settings.largest_batch())
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

    def refuse(self, running: bool = True) -> None:
        """Refuse whatever waits, and everything from now on.

        Args:
            running: Also what runs, which ends after its current step.
        """
        self._stopping = True
        self._arrived.set()
        run = [chunk for batch in self._running.values() for chunk in batch] if running else []
        for chunk in (*self._waiting.drain(), *run):
            if not chunk.future.done():
                chunk.future.set_exception(_stopping())

    async def close(self) -> None:
        """Refuse what waits, and let what runs finish."""
        self.refuse(running=False)
        await self._worker
        await asyncio.gather(*self._running)

    def _chunks(self, tasks: Sequence[Work], caller: str, progress: Progress | None) -> list[Chunk]:
        loop, size = asyncio.get_running_loop(), self._limits.of(tasks[0].recipe).chunk
        span = tracing.get_span()
        return [
            Chunk(caller, tasks[start : start + size], loop.create_future(), loop.time(), progress, span)
            for start in range(0, len(tasks), size)
        ]

    def _next_batch(self) -> list[Chunk]:
        first = self._waiting.next
        if first is None:
            return []
        limit = self._limits.of(first.recipe)
        return self._waiting.take(limit.most, limit.merges, limit.least)

    def _count(self) -> None:
        self._metrics.waiting.set(self._waiting.images)

    async def _work(self) -> None:
        while not self._stopping:
            await self._arrived.wait()
            await self._free.acquire()
            await self._gather()
            batch = self._next_batch()
            self._waiting.tell(self._settings.largest_batch())
            self._count()
            if batch:
                run = asyncio.create_task(self._run(batch))
                self._running[run] = batch
                run.add_done_callback(self._finish)
            else:
                self._free.release()
                self._arrived.clear()

    def _finish(self, run: asyncio.Task[None]) -> None:
        del self._running[run]
        self._free.release()

    async def _gather(self) -> None:
        """Wait a little for a batch to fill, if requests may share one."""
        first = self._waiting.next
        if first is None:
            return
        recipe, limit = first.recipe, self._limits.of(first.recipe)
        if limit.merges:
            gathering = self._gatherings[recipe.model]
            await gathering.fill(limit, lambda: self._waiting.alike(recipe), lambda: self._stopping)

    async def _run(self, batch: list[Chunk]) -> None:
        self._observe("wait", asyncio.get_running_loop().time() - min(chunk.since for chunk in batch))
        with show((chunk.progress, len(chunk.tasks)) for chunk in batch) as told:
            outcome = await self._attempt(batch, told)
            if len(batch) == 1 or not _may_be_of_one(outcome):
                self._conclude(batch, outcome)
                return
            # Strangers share the batch, and none should suffer for another's task.
            for chunk in batch:
                if not chunk.future.done():
                    self._conclude([chunk], await self._attempt([chunk], told))

    async def _attempt(self, batch: list[Chunk], told: ProgressCallback) -> list[Made] | BaseException:
        """Return what the model made of a batch, or what it raised."""
        tasks = [task for chunk in batch for task in chunk.tasks]
        loop = asyncio.get_running_loop()
        started = loop.time()
        work = asyncio.ensure_future(self._engine.run(tasks, told))
        nobody_waits = asyncio.gather(*(chunk.future for chunk in batch), return_exceptions=True)
        nobody_waits.add_done_callback(lambda _: work.cancel())
        # gather hands over whatever the model raised; the worker has to outlive it.
        (outcome,) = await asyncio.gather(work, return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError):
            return outcome
        self._learn(batch, loop.time() - started)
        stages = self._tell(outcome) if isinstance(outcome, list) else {}
        # Before the requests go on: their spans end after those of their parts.
        tracing.record_run(((chunk.span, chunk.since) for chunk in batch), started, len(tasks), stages)
        return outcome

    def _conclude(self, batch: list[Chunk], outcome: list[Made] | BaseException) -> None:
        deliver(batch, outcome)
        if isinstance(outcome, EngineLostError):
            self._on_lost(outcome)

    def _tell(self, made: list[Made]) -> Mapping[str, float]:
        """Count what a run made, and return how long its stages took."""
        self._metrics.rejected.inc(sum(each.refused for each in made))
        stages = stage_seconds(made)
        for stage, seconds in stages.items():
            self._observe(stage, seconds)
        return stages

    def _observe(self, stage: str, seconds: float) -> None:
        self._metrics.stages.labels(stage).observe(seconds)

    def _learn(self, batch: list[Chunk], seconds: float) -> None:
        """Remember how long a run takes, and tell."""
        images = sum(len(chunk.tasks) for chunk in batch)
        recipe = batch[0].recipe
        self._gatherings[recipe.model].learn(seconds, images, self._waiting.alike(recipe))
        each = seconds / sum(chunk.work for chunk in batch)
        self._seconds_each += (0.3 if self._seconds_each else 1.0) * (each - self._seconds_each)
        self._metrics.batches.observe(images)
        self._metrics.seconds.observe(seconds)


def _may_be_of_one(outcome: object) -> bool:
    """Return whether a batch failed, and may have failed for one of its tasks."""
    return isinstance(outcome, Exception) and not isinstance(outcome, (AbandonedError, EngineLostError))


def _stopping() -> NotReadyError:
    return NotReadyError("the server is stopping", code="stopping", retry_after_seconds=5)
