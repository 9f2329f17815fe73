"""Requests that wait for the model: bounded by work, not by requests, and the model shared by work between callers."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from opentelemetry.trace import INVALID_SPAN, Span

from pcevolve_server.errors import BusyError, GenerationError, RequestError
from pcevolve_server.queue.progress import Progress
from pcevolve_server.work import AnyRecipe, Made, Work

_MAX_RETRY_SECONDS = 600


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive tasks of one request; always run together.

    Attributes:
        caller: Whose request it is.
        since: When it began to wait, on the event loop's clock.
        progress: Of its request, if somebody looks on.
        span: Of its request, where spans are collected.
    """

    caller: str
    tasks: Sequence[Work]
    future: asyncio.Future[list[Made]]
    since: float
    progress: Progress | None = None
    span: Span = INVALID_SPAN

    @property
    def recipe(self) -> AnyRecipe:
        """The recipe (steps, size, strength and so on) that all tasks of the chunk share."""
        return self.tasks[0].recipe

    @property
    def work(self) -> int:
        """Images times runs of the denoiser, or texts times their most tokens."""
        return len(self.tasks) * self.recipe.runs


class Waiting:
    """Chunks by caller, each caller's in the order of arrival; it is the turn of who has had least of the model.

    What a caller has had is counted from when somebody began to wait (start-time fair queueing: Goyal, Vin, Cheng 1996,
    "Start-time Fair Queuing"): who was away neither saves up turns nor gets rid of what long batches cost.

    Attributes:
        most: Work, as of ``Chunk.work``, that may wait before another request is refused.
        most_each: The same of one caller.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        self._callers: dict[str, deque[Chunk]] = {}
        self._had: dict[str, float] = {}
        """Work of each caller who waits, or who has had more than whose turn it is."""
        self._now = 0.0
        """Work that whose turn it was last had had."""

    def work(self, caller: str | None = None) -> int:
        """Work that waits, of one caller or of all."""
        lines = self._callers.values() if caller is None else [self._callers.get(caller, deque())]
        return sum(chunk.work for line in lines for chunk in line if not chunk.future.done())

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
            seconds_each: How long a unit of work takes.

        Raises:
            BusyError: Too much waits already; nothing was added.
        """
        caller = chunks[0].caller
        all_work, own = self.work(), self.work(caller)
        seconds = min(max(1, math.ceil(all_work * seconds_each)), _MAX_RETRY_SECONDS)
        if all_work >= self.most:
            raise BusyError("the queue is full", retry_after_seconds=seconds)
        if own >= self.most_each:
            message = f"this key's requests already fill its part of the queue, {self.most_each} image steps"
            raise BusyError(message, retry_after_seconds=seconds)
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
            if len(chunk.tasks) <= free and (not batch or chunk.recipe == batch[0].recipe):
                batch.append(chunk)
                free -= len(chunk.tasks)
            if not merges or not free:
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
            self._had[chunk.caller] += chunk.work * max(1.0, least / images)

    def tell(self, batch: int) -> None:
        """Tell those who look on how many images are likely to run before theirs.

        Those of their own key that came earlier; and, because keys share the model, as many of each other key and a
        batch, if so many wait.
        """
        lengths = {caller: sum(len(chunk.tasks) for chunk in line) for caller, line in self._callers.items()}
        for caller, line in self._callers.items():
            told, before = set[Progress](), 0
            for chunk in line:
                if chunk.progress is not None and chunk.progress not in told:
                    told.add(chunk.progress)
                    others = (length for other, length in lengths.items() if other != caller)
                    chunk.progress.waits(before + sum(min(length, before + batch) for length in others))
                before += len(chunk.tasks)

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
