"""Engines run the queue's batches: on a thread of this process, in other processes, on a cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from pcevolve_server.errors import EngineLostError
from pcevolve_server.models import ModelDescription
from pcevolve_server.work import Made, Work


class Engine(Protocol):
    """A model, or several alike, somewhere; used from one event loop."""

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Of each model, that for requests which name none first."""

    @property
    def replicas(self) -> int:
        """Batches that may run at once."""

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order.

        Cancelling ends the run within the model's current step, and returns only then.
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


async def finish(
    work: asyncio.Future[_Result],
    give_up: Callable[[], object],
    pulse: Callable[[], float | None] = lambda: None,
    stall_seconds: float = 0.0,
) -> _Result:
    """Return what ``work`` returns; when cancelled, ask it to give up and wait until it has.

    Args:
        pulse: When it last gave a sign of life, by ``time.monotonic``; None before its model is at hand.
        stall_seconds: Without one, after which nobody waits any longer; 0: for ever.

    Raises:
        EngineLostError: It gave none for so long: a device that hangs does not come back.
    """
    running = asyncio.ensure_future(_wait_alive(work, pulse, stall_seconds))
    try:
        # Shielded: a cancelled caller must not leave a model running that the next batch would be given.
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
            raise EngineLostError(f"the model did nothing for {stall_seconds:g} s: its device hangs")
    return work.result()
