"""The model in several processes of this machine: one process for each GPU, or several that share the cores."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pcevolve_server.engines import Opening, finish
from pcevolve_server.engines.replica import DiedError, Load, ReplicaProcess
from pcevolve_server.errors import EngineLostError, GenerationError, ModelLoadError
from pcevolve_server.models import ModelDescription
from pcevolve_server.work import Made, Work

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_TRIES = 3  # of a batch whose process dies


def opening(loads: Sequence[Load], stall_seconds: float) -> Opening:
    """Return a function that opens the engine.

    Args:
        loads: Loaders of the models, one for each process. Each runs in its process, so it has to be picklable.
        stall_seconds: See ``finish``.
    """

    async def open_engine() -> ProcessEngine:
        engine = ProcessEngine(loads, stall_seconds)
        try:
            await engine.open()
        # BaseException: a cancelled start must also end the processes that have loaded a model.
        except BaseException:
            await engine.close()
            raise
        return engine

    return open_engine


class ProcessEngine:
    """Several processes, each with its own copy of the models.

    A process that dies is replaced. Its batch runs again, because results depend on the tasks alone.
    """

    def __init__(self, loads: Sequence[Load], stall_seconds: float) -> None:
        self._loads, self.replicas, self._stall_seconds = loads, len(loads), stall_seconds
        self._threads = ThreadPoolExecutor(max_workers=len(loads), thread_name_prefix="replica")
        self._all: set[ReplicaProcess] = set()
        self._idle: asyncio.Queue[ReplicaProcess] = asyncio.Queue()

    async def open(self) -> None:
        for replica in await asyncio.gather(*map(self._open, self._loads)):
            self._idle.put_nowait(replica)

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Descriptions of all models, with the lowest limits of all replicas that have loaded them."""
        told = (each.descriptions for each in self._all if each.descriptions)
        return tuple(map(ModelDescription.of_all, zip(*told, strict=True)))

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of tasks that share one recipe, in the tasks' order.

        Raises:
            GenerationError: The batch's process died, and so did the processes that replaced it.
            EngineLostError: A dead process could not be replaced.
        """
        replica = await self._idle.get()
        try:
            for _ in range(_TRIES):
                try:
                    work = self._in_thread(partial(replica.run, tasks))
                    return await finish(work, replica.give_up, replica.pulse, self._stall_seconds)
                except (DiedError, EngineLostError) as error:
                    # The same batch runs again in a new process. Its results depend on its tasks alone.
                    replica = await self._replace(replica, error)
                    if (task := asyncio.current_task()) is not None and task.cancelling():
                        raise asyncio.CancelledError from None
            raise GenerationError("the model's process died at every attempt", code="replica_died")
        finally:
            # Put the current replica back, alive or not. The queue would otherwise lose a replica for ever.
            self._idle.put_nowait(replica)

    async def close(self) -> None:
        for replica in list(self._all):
            self._end(replica)
        # The threads are not waited for. A thread that reads from a dead child's pipe ends with the pipe.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _open(self, load: Load) -> ReplicaProcess:
        replica = ReplicaProcess(load)
        self._all.add(replica)
        try:
            await self._in_thread(replica.wait_until_open)
        except BaseException:
            self._end(replica)
            raise
        return replica

    async def _replace(self, dead: ReplicaProcess, error: Exception) -> ReplicaProcess:
        logger.warning("a replica died; it is replaced", extra={"error": type(error).__name__})
        # The dead replica is closed first. A process that hangs holds its device's memory, and the thread that waits
        # for its answer.
        await asyncio.to_thread(dead.close)
        try:
            replica = await self._open(dead.load)
        except (DiedError, ModelLoadError) as again:
            raise EngineLostError("a replica died and could not be replaced: restart the server") from again
        finally:
            self._all.discard(dead)
        return replica

    def _end(self, replica: ReplicaProcess) -> None:
        self._all.discard(replica)
        replica.close()

    def _in_thread(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)
