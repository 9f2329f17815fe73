"""Requests that wait for the model. Their work is limited, not their number. Callers get equal shares of work."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from opentelemetry.trace import INVALID_SPAN, Span

from pcevolve_server.errors import BusyError, GenerationError, RequestError
from pcevolve_server.work import AnyRecipe, Made, Work

_MAX_RETRY_SECONDS = 600


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive tasks of one request, which always run together.

    Attributes:
        caller: The caller of the request.
        since: Time when the wait began, on the event loop's clock.
        span: The request's span, if spans are collected.
    """

    caller: str
    tasks: Sequence[Work]
    future: asyncio.Future[list[Made]]
    since: float
    span: Span = INVALID_SPAN

    @property
    def recipe(self) -> AnyRecipe:
        return self.tasks[0].recipe

    @property
    def cost(self) -> int:
        """Cost of all tasks, in pixels times steps; see ``Recipe.cost``."""
        return len(self.tasks) * self.recipe.cost


class Waiting:
    """Chunks by caller, in the order of arrival. The caller who has used the model least is next.

    A caller's use is counted from the time when the caller began to wait (start-time fair queueing: Goyal, Vin, Cheng
    1996, "Start-time Fair Queuing"). A caller who was absent does not save up turns, and does not get rid of the cost
    of long batches.

    Attributes:
        most: Largest cost (``Chunk.cost``) that may wait. Beyond it, requests are refused.
        most_each: The same limit for one caller.
    """

    def __init__(self, most: float, most_each: float) -> None:
        self.most, self.most_each = most, most_each
        self._callers: dict[str, deque[Chunk]] = {}
        self._had: dict[str, float] = {}
        """Cost used so far by each caller that waits, and by callers that have used more than the next caller."""
        self._now = 0.0
        """Cost that the last served caller had used before its turn."""

    def cost(self, caller: str | None = None) -> int:
        """Return the waiting cost of one caller, or of all callers."""
        lines = self._callers.values() if caller is None else [self._callers.get(caller, deque())]
        return sum(chunk.cost for line in lines for chunk in line if not chunk.future.done())

    @property
    def images(self) -> int:
        """Number of waiting images."""
        return sum(len(chunk.tasks) for line in self._callers.values() for chunk in line)

    def alike(self, recipe: AnyRecipe) -> int:
        """Return how many waiting images may share a batch of this recipe."""
        lines = self._callers.values()
        return sum(
            len(chunk.tasks)
            for line in lines
            for chunk in line
            if chunk.recipe == recipe and not chunk.future.done()
        )

    def add(self, chunks: Sequence[Chunk], seconds_each: float) -> None:
        """Add a request's chunks, of any size, unless the limits are already reached.

        Args:
            seconds_each: Seconds for a unit of cost.

        Raises:
            BusyError: The queue is full. Nothing was added.
        """
        caller = chunks[0].caller
        whole, own = self.cost(), self.cost(caller)
        seconds = min(max(1, math.ceil(whole * seconds_each)), _MAX_RETRY_SECONDS)
        if whole >= self.most:
            raise BusyError("the queue is full", retry_after_seconds=seconds)
        if own >= self.most_each:
            part = f"{self.most_each / 10**6:g} megapixel steps"
            raise BusyError(
                f"this key's requests already fill its share of the queue, {part}",
                retry_after_seconds=seconds,
            )
        if caller not in self._callers:
            self._had[caller] = max(self._now, self._had.get(caller, 0.0))
        self._callers.setdefault(caller, deque()).extend(chunks)

    @property
    def next(self) -> Chunk | None:
        """The oldest chunk of the caller whose turn it is."""
        return next((chunk for chunk in self._in_turn() if not chunk.future.done()), None)

    def take(self, most: int, merges: bool, least: int = 1) -> list[Chunk]:
        """Take the next batch: :attr:`next`, and chunks that fit with it.

        Args:
            merges: Whether chunks of equal recipes may share a batch. The first caller's chunks come before others'.
            least: A smaller batch costs as much as this many images, because small models' batches are padded.
        """
        self.forget_done()
        batch: list[Chunk] = []
        free = most
        for chunk in list(self._in_turn()):
            # The first chunk is taken at any size: it was cut before the device's limit was known, and the model cuts
            # it again.
            if not batch or (len(chunk.tasks) <= free and chunk.recipe == batch[0].recipe):
                batch.append(chunk)
                free -= len(chunk.tasks)
            if not merges or free <= 0:
                break
        if batch:
            self._now = self._had[batch[0].caller]
            self._charge(batch, least)
        taken = set(batch)
        self._forget(lambda chunk: chunk in taken)
        return batch

    def _charge(self, batch: Sequence[Chunk], least: int) -> None:
        """Charge each caller with its share of the batch's cost."""
        images = sum(len(chunk.tasks) for chunk in batch)
        for chunk in batch:
            self._had[chunk.caller] += chunk.cost * max(1.0, least / images)

    def forget_done(self) -> None:
        """Drop chunks whose callers are gone, with their images."""
        self._forget(lambda chunk: chunk.future.done())

    def drain(self) -> list[Chunk]:
        """Remove and return all waiting chunks."""
        left = list(self._in_turn())
        self._callers.clear()
        return left

    def _in_turn(self) -> Iterator[Chunk]:
        for caller in sorted(self._callers, key=self._had.__getitem__):
            yield from self._callers[caller]

    def _forget(self, unwanted: Callable[[Chunk], bool]) -> None:
        kept = {
            caller: deque(chunk for chunk in line if not unwanted(chunk))
            for caller, line in self._callers.items()
        }
        self._callers = {caller: line for caller, line in kept.items() if line}
        if self._callers:
            owing = {each for each, had in self._had.items() if had > self._now}
            self._had = {each: self._had[each] for each in {*self._callers, *owing}}
        else:
            self._now, self._had = 0.0, {}  # nobody waits: nobody is owed anything


def deliver(batch: list[Chunk], outcome: list[Made] | BaseException) -> None:
    """Give each chunk its results, or the batch's error."""
    place = 0
    for chunk in batch:
        end = place + len(chunk.tasks)
        if chunk.future.done():
            pass
        elif isinstance(outcome, RequestError):
            chunk.future.set_exception(outcome)
        elif isinstance(outcome, BaseException):
            failure = GenerationError("the model failed on this request")
            failure.__cause__ = outcome
            chunk.future.set_exception(failure)
        else:
            chunk.future.set_result(outcome[place:end])
        place = end
