"""Engines, which run the queue's batches: on a thread of this process, in other processes, or on a cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from pcevolve_server.errors import EngineLostError
from pcevolve_server.models import ModelDescription
from pcevolve_server.work import Made, Work


class Engine(Protocol):
    """One or more models, each perhaps in several copies. Used from one event loop."""

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Descriptions of all models, the default first."""

    @property
    def replicas(self) -> int:
        """Number of batches that may run at once."""

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of tasks that share one recipe, in the tasks' order.

        If the call is cancelled, the run ends after the model's current step, and the call returns then.
        """

    async def close(self) -> None:
        """Release the model. No batch may be running."""


@runtime_checkable
class Losable(Protocol):
    """An engine whose models need something that can fail, such as a cluster."""

    async def wait_for_failure(self) -> EngineLostError:
        """Return when the engine has failed for good, whether or not a batch is running."""


Opening = Callable[[], Awaitable[Engine]]
"""Loads the model, which may take minutes. Cancelling stops the loading."""


_Result = TypeVar("_Result")


async def finish(
    work: asyncio.Future[_Result],
    give_up: Callable[[], object],
    pulse: Callable[[], float | None] = lambda: None,
    stall_seconds: float = 0.0,
) -> _Result:
    """Return the result of ``work``. If the call is cancelled, ask ``work`` to stop, and wait until it has stopped.

    Args:
        pulse: Returns the time of the run's last sign of life, on the clock ``time.monotonic``. None before
            the first sign, as while a model is loading.
        stall_seconds: Without a sign of life for this long, the wait ends. 0: never.

    Raises:
        EngineLostError: There was no sign of life for ``stall_seconds``. A device that hangs does not recover.
    """
    running = asyncio.ensure_future(_wait_alive(work, pulse, stall_seconds))
    try:
        # Shielded: a cancelled caller must not leave a run on a model that the next batch will use.
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        give_up()
        # The model is free only when its current step is over, so the caller waits for that.
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
