"""When requests leave: several of a round at once, and after an answer no sooner than the owner's gap.

Work between two requests is public, which the provider could repeat, or it waits for the keeper of the
private data, whose answers leave at whole ticks (``keeper.padding``).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Generic, TypeAlias, TypeVar

Asked = TypeVar("Asked")
Brought = TypeVar("Brought")
Answer = TypeVar("Answer")
Wait: TypeAlias = Callable[[], Brought]


@dataclass
class Pace:
    """Keeps at least ``gap`` seconds between an answer and the next request."""

    gap: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _answered: float | None = field(default=None, init=False)

    def wait_before_request(self) -> None:
        """Wait until the next request may leave; the first request of a process leaves at once."""
        if self._answered is not None and self.gap > (passed := self.clock() - self._answered):
            self.sleep(self.gap - passed)

    def note_answer(self) -> None:
        """Begin the next pause: an answer is in, or the attempt failed."""
        self._answered = self.clock()


@dataclass(frozen=True)
class Ready(Generic[Answer]):
    """An answer without waiting."""

    answer: Answer


@dataclass
class RequestWindow:
    """Several requests of a round in flight at once, with their answers in the order of the requests.

    The caller's thread decides what may leave next, and handles each outcome; other threads only wait for the
    API.

    Attributes:
        most: Most requests in flight. With one, everything happens in the caller's own thread.
        abandon: Cuts the requests in flight.
        stopping: Set once one of them failed, so that no other is retried.
    """

    most: int
    abandon: Callable[[], None]
    stopping: Event = field(default_factory=Event)

    def answers(
        self,
        asked: Sequence[Asked],
        may_begin: Callable[[Asked], bool],
        begin: Callable[[Asked], Ready[Answer] | Wait[Brought]],
        end: Callable[[Asked, Brought], Answer],
    ) -> Iterator[Answer]:
        """Begin each in its turn, wait for several at once, end each on arrival, and yield answers in order.

        If one fails, those in flight are waited for, so that no paid answer is lost.

        Args:
            may_begin: Whether a request may join those in flight; the oldest always may.
            begin: Returns what to wait for; called in the caller's thread, in order.
            end: Makes the answer from the outcome; called in the caller's thread, in the order of arrival.
        """
        # No threads for one at a time: errors and Ctrl-C then reach the caller directly.
        if self.most == 1:
            for each in asked:
                begun = begin(each)
                yield begun.answer if isinstance(begun, Ready) else end(each, begun())
            return
        # The event belongs to the gate and serves all rounds; a run that recovered must not find it set.
        self.stopping.clear()
        left, under_way = deque(enumerate(asked)), dict[Future[Brought], int]()
        done: dict[int, Answer] = {}

        def begin_next() -> None:
            # If nothing is in flight, a request that may not begin is an error, which ``begin`` raises.
            while left and (not under_way or may_begin(left[0][1])):
                place, each = left.popleft()
                begun = begin(each)
                if isinstance(begun, Ready):
                    done[place] = begun.answer
                else:
                    under_way[threads.submit(begun)] = place

        with ThreadPoolExecutor(self.most, thread_name_prefix="lane") as threads:
            try:
                for place in range(len(asked)):
                    begin_next()
                    while place not in done:
                        came, _ = wait(under_way, return_when=FIRST_COMPLETED)
                        # By place, so that the record of simultaneous answers has the plan's order, not a
                        # set's.
                        for brought in sorted(came, key=under_way.__getitem__):
                            ended = under_way.pop(brought)
                            done[ended] = end(asked[ended], brought.result())
                    begin_next()  # the API works on the next ones while the caller works on this one
                    yield done.pop(place)
            except BaseException as error:
                self.stopping.set()
                if not isinstance(error, Exception):  # somebody wants it to stop now
                    # Ctrl-C does not wait for answers; any other failure does, because they are paid for.
                    self.abandon()
                raise

    def pause(self, seconds: float) -> None:
        """Sleep, or wake when another request failed."""
        self.stopping.wait(seconds)
