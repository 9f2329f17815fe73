"""From asyncio's cancellation to a run that has to be asked to end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Result = TypeVar("_Result")


async def finished(work: Awaitable[_Result], give_up: Callable[[], object]) -> _Result:
    """Return what ``work`` returns; when cancelled, ask it to give up and wait until it has."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        give_up()
        await asyncio.gather(running, return_exceptions=True)
        raise
