"""Requests that wait for the model: bounded by work, not by requests, and the model shared by work between callers."""

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
    """Consecutive tasks of one request; always run together.

    Attributes:
        caller: Whose request it is.
        since: When it began to wait, on the event loop's clock.
        span: Of its request, where spans are collected.
    """

    caller: str
    tasks: Sequence[Work]
    future: asyncio.Future[list[Made]]
    since: float
    span: Span = INVALID_SPAN

    @property
    def recipe(self) -> AnyRecipe:
        """The recipe (steps, size, strength and so on) that all tasks of the chunk share."""
        return self.tasks[0].recipe

    @property
    def cost(self) -> int:
        """Of all its tasks, in pixels times steps, as of their recipe."""
        return len(self.tasks) * self.recipe.cost


class Waiting:
    """Chunks by caller, each caller's in the order of arrival; it is the turn of who has had least of the model.

    What a caller has had is counted from when somebody began to wait (start-time fair queueing: Goyal, Vin, Cheng 1996,
    "Start-time Fair Queuing"): who was away neither saves up turns nor gets rid of what long batches cost.

    Attributes:
        most: Cost, as of ``Chunk.cost``, that may wait before another request is refused.
        most_each: The same of one caller.
    """

    def __init__(self, most: float, most_each: float) -> None:
        self.most, self.most_each = most, most_each
        self._callers: dict[str, deque[Chunk]] = {}
        self._had: dict[str, float] = {}
        """What each caller has had who waits, or who has had more than whose turn it is."""
        self._now = 0.0
        """What whose turn it was last had had."""

    def cost(self, caller: str | None = None) -> int:
        """Cost of what waits, of one caller or of all."""
        lines = self._callers.values() if caller is None else [self._callers.get(caller, deque())]
        return sum(chunk.cost for line in lines for chunk in line if not chunk.future.done())

    @property
    def images(self) -> int:
        """Images that wait."""
        return sum(len(chunk.tasks) for line in self._callers.values() for chunk in line)

    def alike(self, recipe: AnyRecipe) -> int:
        """Images that somebody waits for and that may share a batch of this recipe."""
        lines = self._callers.values()
        return sum(
            len(chunk.tasks)
            for line in lines
            for chunk in line
            if chunk.recipe == recipe and not chunk.future.done()
        )

    def add(self, chunks: Sequence[Chunk], seconds_each: float) -> None:
        """Let a request's chunks wait: while less than the bounds waits, however long the request itself is.

        Args:
            seconds_each: How long a unit of cost takes.

        Raises:
            BusyError: Too much waits already; nothing was added.
        """
        caller = chunks[0].caller
        whole, own = self.cost(), self.cost(caller)
        seconds = min(max(1, math.ceil(whole * seconds_each)), _MAX_RETRY_SECONDS)
        if whole >= self.most:
            raise BusyError("the queue is full", retry_after_seconds=seconds)
        if own >= self.most_each:
            part = f"{self.most_each / 10**6:g} megapixel steps"
            raise BusyError(
                f"this key's requests already fill its part of the queue, {part}", retry_after_seconds=seconds
            )
        if caller not in self._callers:
            self._had[caller] = max(self._now, self._had.get(caller, 0.0))
        self._callers.setdefault(caller, deque()).extend(chunks)

    @property
    def next(self) -> Chunk | None:
        """The oldest chunk of whose turn it is."""
        return next((chunk for chunk in self._in_turn() if not chunk.future.done()), None)

    def take(self, most: int, merges: bool, least: int = 1) -> list[Chunk]:
        """The next batch: :attr:`next`, and what fits beside it.

        Args:
            merges: Whether chunks of equal recipes may share a batch; the first caller's come before others'.
            least: Images that a batch costs at least, as small models' do, which are padded.
        """
        self.forget_done()
        batch: list[Chunk] = []
        free = most
        for chunk in list(self._in_turn()):
            # The first whatever its size: it was cut before the device was known to hold less, and is cut again there.
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
        """Each caller has had a share of what the batch costs."""
        images = sum(len(chunk.tasks) for chunk in batch)
        for chunk in batch:
            self._had[chunk.caller] += chunk.cost * max(1.0, least / images)

    def forget_done(self) -> None:
        """Let go of chunks that nobody waits for, and of their images."""
        self._forget(lambda chunk: chunk.future.done())

    def drain(self) -> list[Chunk]:
        """Take everything that still waits."""
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
    """Hand each chunk what was made, or what went wrong with all of them."""
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
