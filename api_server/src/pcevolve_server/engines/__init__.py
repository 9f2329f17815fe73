"""Engines run the queue's batches: on a thread of this process, in other processes, on a cluster."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from pcevolve_server.errors import EngineLostError
from pcevolve_server.models import ModelDescription, Traffic
from pcevolve_server.work import Made, Work

ProgressCallback = Callable[[int, int], object]
"""Is told which step was done, from 1, and how many there are."""


def no_progress(step: int, steps: int) -> None:
    """Nobody looks on."""


class Engine(Protocol):
    """A model, or several alike, somewhere; used from one event loop."""

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Of each model, that for requests which name none first."""

    @property
    def traffic(self) -> Traffic:
        """Counts of models that came and went since the start, as far as is known."""

    @property
    def device_memory(self) -> Counter[str]:
        """Bytes on GPUs by their numbers, of other processes than this one, each as of its last answer."""

    @property
    def replicas(self) -> int:
        """Batches that may run at once."""

    async def run(self, tasks: Sequence[Work], on_step: ProgressCallback = no_progress) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order.

        Cancelling ends the run after the model's current step, and returns only then.

        Args:
            on_step: Called on the event loop after steps, where the engine hears of them; they may begin anew.
        """

    async def close(self) -> None:
        """Let go of the model; nothing runs any more."""


@runtime_checkable
class Losable(Protocol):
    """An engine whose models run on what can end under it."""

    async def wait_for_failure(self) -> EngineLostError:
        """Return when that is gone for good, whether anything runs or not."""


Opening = Callable[[], Awaitable[Engine]]
"""Loads the model, which may take minutes; cancelling gives up."""


_Result = TypeVar("_Result")


async def finish(work: Awaitable[_Result], give_up: Callable[[], object]) -> _Result:
    """Return what ``work`` returns; when cancelled, ask it to give up and wait until it has."""
    running = asyncio.ensure_future(work)
    try:
        # Shielded: a cancelled caller must not leave a model running that the next batch would be given.
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        give_up()
        # Waited for, because the model is free only when its current step is over.
        await asyncio.gather(running, return_exceptions=True)
        raise
