"""The model in several processes of this machine: one thread each is faster than all threads on one model."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pcevolve_server.engines import Opening, ProgressCallback, finish, no_progress
from pcevolve_server.engines.replica import DiedError, Load, Replica
from pcevolve_server.errors import GenerationError
from pcevolve_server.models import ModelDescription, Traffic
from pcevolve_server.work import Made, Work

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_TRIES = 3  # of a batch whose process dies


def opening(load: Load, replicas: int) -> Opening:
    """Return what opens the engine.

    Args:
        load: Runs in each process, so it has to be picklable.
    """

    async def open_engine() -> ProcessEngine:
        engine = ProcessEngine(load, replicas)
        try:
            await engine.open()
        # BaseException: a start that is cancelled leaves processes that have loaded a model.
        except BaseException:
            await engine.close()
            raise
        return engine

    return open_engine


class ProcessEngine:
    """Processes alike; one that dies is replaced, and its batch is run again, for that depends on its tasks alone."""

    def __init__(self, load: Load, replicas: int) -> None:
        self._load, self.replicas = load, replicas
        self._threads = ThreadPoolExecutor(max_workers=replicas, thread_name_prefix="replica")
        self._all: set[Replica] = set()
        self._past = Traffic()
        self.descriptions: tuple[ModelDescription, ...] = ()
        self._idle: asyncio.Queue[Replica] = asyncio.Queue()

    async def open(self) -> None:
        """Start all processes and wait for their models."""
        found = await asyncio.gather(*(self._open() for _ in range(self.replicas)))
        for replica, descriptions in found:
            self.descriptions = descriptions
            self._idle.put_nowait(replica)

    @property
    def traffic(self) -> Traffic:
        """Of the models of all processes, also of those that ended."""
        return sum((replica.traffic for replica in self._all), self._past)

    @property
    def device_memory(self) -> Counter[str]:
        """That all processes together hold, by the GPU's number, each as of its last answer."""
        held: Counter[str] = Counter()
        for replica in self._all:
            held.update(replica.device_memory)  # a sum would leave out GPUs of which nothing is held
        return held

    async def run(self, tasks: Sequence[Work], on_step: ProgressCallback = no_progress) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order.

        Raises:
            GenerationError: Its process died, and those after it.
        """
        loop, replica = asyncio.get_running_loop(), await self._idle.get()

        def tell(step: int, steps: int) -> None:
            # Steps come on a worker thread, and whoever is told lives on the event loop.
            loop.call_soon_threadsafe(on_step, step, steps)

        try:
            for _ in range(_TRIES):
                try:
                    return await finish(self._in_thread(partial(replica.run, tasks, tell)), replica.give_up)
                except DiedError:
                    # A fresh process for the same batch: images depend on their tasks alone, so nobody can tell.
                    replica = await self._replace(replica)
            raise GenerationError("the model's process died at every try", code="replica_died")
        finally:
            # The one that is there now, alive or not: without it the queue would have a replica less for ever.
            self._idle.put_nowait(replica)

    async def close(self) -> None:
        """End all processes."""
        for replica in list(self._all):
            self._end(replica)
        # Not waited for: a thread that reads from a dead child's pipe ends with the pipe.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _open(self) -> tuple[Replica, tuple[ModelDescription, ...]]:
        replica = Replica(self._load)
        self._all.add(replica)
        try:
            return replica, await self._in_thread(replica.wait_until_open)
        except BaseException:
            self._end(replica)
            raise

    async def _replace(self, dead: Replica) -> Replica:
        logger.warning("a replica died; it is replaced")
        self._end(dead)
        replica, _ = await self._open()
        return replica

    def _end(self, replica: Replica) -> None:
        if replica in self._all:
            self._all.discard(replica)
            self._past += replica.traffic
        replica.close()

    def _in_thread(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)
