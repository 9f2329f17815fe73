"""The models on one thread of this process, the only one that ever touches them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pcevolve_server.engines import Opening, ProgressCallback, finish, no_progress
from pcevolve_server.models import ModelCache
from pcevolve_server.work import Made, Work


def opening(load: Callable[[], ModelCache]) -> Opening:
    """Return what opens the engine.

    Args:
        load: Runs on the model's thread.
    """

    async def open_engine() -> ThreadEngine:
        # One thread, for life: one run at a time, and models need no locks.
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        try:
            return ThreadEngine(await asyncio.get_running_loop().run_in_executor(executor, load), executor)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise

    return open_engine


class ThreadEngine:
    """Models and their thread."""

    replicas = 1

    def __init__(self, cache: ModelCache, executor: Executor) -> None:
        self._cache, self._executor = cache, executor
        self.descriptions, self.traffic = cache.descriptions, cache.traffic
        self.device_memory: Counter[str] = Counter()

    async def run(self, tasks: Sequence[Work], on_step: ProgressCallback = no_progress) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order."""
        given_up = threading.Event()
        loop = asyncio.get_running_loop()

        def is_cancelled(step: int = 0, steps: int = 0) -> bool:
            if step and steps:
                loop.call_soon_threadsafe(on_step, step, steps)
            return given_up.is_set()

        def run() -> list[Made]:
            return self._cache.run(tasks, is_cancelled)

        work = loop.run_in_executor(self._executor, run)
        return await finish(work, given_up.set)

    async def close(self) -> None:
        """Let the thread go."""
        self._executor.shutdown(wait=False, cancel_futures=True)
