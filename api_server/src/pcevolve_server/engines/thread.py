"""The model on one thread of this process, the only one that ever touches it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pcevolve_server.engines.cancelling import finished
from pcevolve_server.engines.engine import Opening, Told, untold
from pcevolve_server.generator import Generator, Picture, Task, generate
from pcevolve_server.shelf import Offer, Traffic, offers, traffic
from pcevolve_shared.wire import ModelInfo


def opening(load: Callable[[], Generator]) -> Opening:
    """How to open the engine.

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
    """A generator and its thread."""

    replicas = 1

    def __init__(self, generator: Generator, executor: Executor) -> None:
        self._generator, self._executor = generator, executor

    @property
    def info(self) -> ModelInfo:
        """What the model can do."""
        return self._generator.info

    @property
    def companions(self) -> int:
        """As of the generator."""
        return self._generator.companions

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Of each of the generator's models."""
        return offers(self._generator)

    @property
    def traffic(self) -> Traffic:
        """Of the generator's models, since the start."""
        return traffic(self._generator)

    async def run(self, tasks: Sequence[Task], told: Told = untold) -> list[Picture]:
        """Return the pictures of tasks that share one recipe, in their order."""
        given_up = threading.Event()
        loop = asyncio.get_running_loop()

        def unwanted(step: int = 0, steps: int = 0) -> bool:
            if step and steps:
                loop.call_soon_threadsafe(told, step, steps)
            return given_up.is_set()

        work = loop.run_in_executor(self._executor, generate, self._generator, tasks, unwanted)
        return await finished(work, given_up.set)

    async def close(self) -> None:
        """Let the thread go."""
        self._executor.shutdown(wait=False, cancel_futures=True)
