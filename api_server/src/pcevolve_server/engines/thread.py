"""The models on one thread of this process, the only one that ever touches them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pcevolve_server.engines import Opening, Told, finish, untold
from pcevolve_server.models import Shelf
from pcevolve_server.work import Made, Work


def opening(load: Callable[[], Shelf]) -> Opening:
    """Return what opens the engine.

    Args:
        load: Runs on the model's thread.
    """

    async def opened() -> ThreadEngine:
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        try:
            return ThreadEngine(await asyncio.get_running_loop().run_in_executor(executor, load), executor)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise

    return opened


class ThreadEngine:
    """Models and their thread."""

    replicas = 1

    def __init__(self, shelf: Shelf, executor: Executor) -> None:
        self._shelf, self._executor = shelf, executor
        self.offers, self.traffic = shelf.offers, shelf.traffic
        self.device_memory: Counter[str] = Counter()

    async def run(self, tasks: Sequence[Work], told: Told = untold) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order."""
        given_up = threading.Event()
        loop = asyncio.get_running_loop()

        def unwanted(step: int = 0, steps: int = 0) -> bool:
            if step and steps:
                loop.call_soon_threadsafe(told, step, steps)
            return given_up.is_set()

        def run() -> list[Made]:
            return self._shelf.run(tasks, unwanted)

        work = loop.run_in_executor(self._executor, run)
        return await finish(work, given_up.set)

    async def close(self) -> None:
        """Let the thread go."""
        self._executor.shutdown(wait=False, cancel_futures=True)
