"""Engines, which run the queue's batches: on a thread of this process, in other processes, on a cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from pcevolve_server.errors import EngineLostError
from pcevolve_server.models import ModelDescription
from pcevolve_server.work import Made, Work


class Engine(Protocol):
    """One or more models, each perhaps in several copies; used from one event loop."""

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Descriptions of all models, the default first."""

    @property
    def replicas(self) -> int:
        """Number of batches that may run at once."""

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of tasks that share one recipe, in their order.

        Cancelling ends the run after the model's current step, and returns only then.
        """

    async def close(self) -> None:
        """Release the model; nothing runs any more."""


@runtime_checkable
class Losable(Protocol):
    """An engine whose models run on something that can fail, such as a cluster."""

    async def wait_for_failure(self) -> EngineLostError:
        """Return when that has failed for good, whether or not anything runs."""


Opening = Callable[[], Awaitable[Engine]]
"""Loads the model, which may take minutes; cancelling stops it."""


_Result = TypeVar("_Result")


async def finish(
    work: asyncio.Future[_Result],
    give_up: Callable[[], object],
    pulse: Callable[[], float | None] = lambda: None,
    stall_seconds: float = 0.0,
) -> _Result:
    """Return the result of ``work``; when cancelled, ask it to stop and wait until it has.

    Args:
        pulse: Returns when it last gave a sign of life, by ``time.monotonic``; None before its model is
            loaded.
        stall_seconds: After this long without a sign of life the wait ends; 0: never.

    Raises:
        EngineLostError: It gave no sign of life for so long: a device that hangs does not recover.
    """
    running = asyncio.ensure_future(_wait_alive(work, pulse, stall_seconds))
    try:
        # Shielded: a cancelled caller must not leave a run on a model that the next batch would use.
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        give_up()
        # Waited for, because the model is free only when its current step is over.
        (outcome,) = await asyncio.gather(running, return_exceptions=True)
        if isinstance(outcome, EngineLostError):
            raise outcome from None
        raise


async def _wait_alive(
    work: asyncio.Future[_Result], pulse: Callable[[], float | None], stall_seconds: float
) -> _Result:
    look_seconds = stall_seconds / 4 or None
    while not (await asyncio.wait({work}, timeout=look_seconds))[0]:
        last = pulse()
        if last is not None and time.monotonic() - last > stall_seconds:
            work.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody asks any more
            raise EngineLostError(f"the model made no progress for {stall_seconds:g} s: its device hangs")
    return work.result()
