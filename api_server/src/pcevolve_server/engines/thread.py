"""The model on one thread of this process, the only one that ever touches it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pcevolve_server.engines.engine import Opening, Told, finished, untold
from pcevolve_server.models import Offer, Traffic, offers, traffic
from pcevolve_server.work import Made, Model, Work, perform
from pcevolve_shared.wire import ModelInfo


def opening(load: Callable[[], Model]) -> Opening:
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
    """A model and its thread."""

    replicas = 1

    def __init__(self, model: Model, executor: Executor) -> None:
        self._model, self._executor = model, executor

    @property
    def info(self) -> ModelInfo:
        """What the model can do."""
        return self._model.info

    @property
    def companions(self) -> int:
        """As of the model."""
        return self._model.companions

    @property
    def padded(self) -> bool:
        """As of the model."""
        return self._model.padded

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Of each of the models behind it."""
        return offers(self._model)

    @property
    def traffic(self) -> Traffic:
        """Of the models behind it, since the start."""
        return traffic(self._model)

    async def run(self, tasks: Sequence[Work], told: Told = untold) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order."""
        given_up = threading.Event()
        loop = asyncio.get_running_loop()

        def unwanted(step: int = 0, steps: int = 0) -> bool:
            if step and steps:
                loop.call_soon_threadsafe(told, step, steps)
            return given_up.is_set()

        def run() -> list[Made]:
            return perform(self._model, tasks, unwanted)

        work = loop.run_in_executor(self._executor, run)
        return await finished(work, given_up.set)

    async def close(self) -> None:
        """Let the thread go."""
        self._executor.shutdown(wait=False, cancel_futures=True)
