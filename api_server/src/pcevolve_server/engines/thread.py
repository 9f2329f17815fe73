"""The models on one thread of this process. No other thread uses them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pcevolve_server.engines import Opening, finish
from pcevolve_server.errors import EngineLostError
from pcevolve_server.models import ModelCache, ModelDescription
from pcevolve_server.work import Made, Work


def opening(load: Callable[[], ModelCache], stall_seconds: float) -> Opening:
    """Return a function that opens the engine.

    Args:
        load: Runs on the model's thread.
        stall_seconds: See ``finish``.
    """

    async def open_engine() -> ThreadEngine:
        # One thread for the engine's whole life. Only one run is active at a time, and models need no locks.
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        try:
            cache = await asyncio.get_running_loop().run_in_executor(executor, load)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        return ThreadEngine(cache, executor, stall_seconds)

    return open_engine


class ThreadEngine:
    """Models and their thread.

    Attributes:
        lost: The error after which no model can run any more. None while models can run.
    """

    replicas = 1

    def __init__(self, cache: ModelCache, executor: Executor, stall_seconds: float) -> None:
        self._cache, self._executor, self._stall_seconds = cache, executor, stall_seconds
        self.lost: EngineLostError | None = None

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Descriptions of all models, with the memory limits known so far."""
        return self._cache.descriptions

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of tasks that share one recipe, in the tasks' order.

        Raises:
            EngineLostError: The device has failed or hangs, now or since an earlier batch.
        """
        if self.lost is not None:
            raise self.lost
        given_up = threading.Event()
        pulse: float | None = None

        def is_cancelled() -> bool:
            nonlocal pulse
            pulse = time.monotonic()
            return given_up.is_set()

        def run() -> list[Made]:
            return self._cache.run(tasks, is_cancelled)

        work = asyncio.get_running_loop().run_in_executor(self._executor, run)
        try:
            return await finish(work, given_up.set, lambda: pulse, self._stall_seconds)
        except EngineLostError as error:
            self.lost = error
            raise

    async def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
