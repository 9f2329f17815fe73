"""When requests are sent: several of a round at once, and after an answer only once the owner's pause is over.

The work between two requests is public: the provider could repeat it, so its duration reveals nothing. The
exception is waiting for the keeper of the private data, whose answers are delayed to whole ticks
(``keeper.padding``).
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
        """Wait until the next request may be sent; the first request of a process is sent at once."""
        if self._answered is not None and self.gap > (passed := self.clock() - self._answered):
            self.sleep(self.gap - passed)

    def note_answer(self) -> None:
        """Begin the next pause, after an answer or a failed attempt."""
        self._answered = self.clock()


@dataclass(frozen=True)
class Ready(Generic[Answer]):
    """An answer that needs no waiting."""

    answer: Answer


@dataclass
class RequestWindow:
    """Several requests of a round in flight at once, with their answers in the order of the requests.

    The caller's thread decides which request may be sent next, and handles each outcome. Other threads only
    wait for the API.

    Attributes:
        most: Largest number of requests in flight. With one, everything happens in the caller's own thread.
        abandon: Cuts the requests in flight.
        stopping: Set when one of the requests failed, so that no other is retried.
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
        """Begin each request in its turn, wait for several at once, handle each on arrival, yield answers in order.

        If one request fails, those in flight are waited for, so that no paid answer is lost.

        Args:
            may_begin: Whether a request may join those in flight; the oldest always may.
            begin: Returns an answer, or a function that waits for it; called in the caller's thread, in
                order.
            end: Makes the answer from the outcome; called in the caller's thread, in the order of arrival.
        """
        # One at a time needs no threads: errors and Ctrl-C then reach the caller directly.
        if self.most == 1:
            for each in asked:
                begun = begin(each)
                yield begun.answer if isinstance(begun, Ready) else end(each, begun())
            return
        # Cleared, because the gate's event serves all rounds, and a run that recovered must not find it set.
        self.stopping.clear()
        left, under_way = deque(enumerate(asked)), dict[Future[Brought], int]()
        done: dict[int, Answer] = {}

        def begin_next() -> None:
            # If nothing is in flight, a request that may not begin is an error, and ``begin`` raises it.
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
                        # Sorted by place, because a set has no order, and simultaneous answers are recorded
                        # in the plan's order.
                        for brought in sorted(came, key=under_way.__getitem__):
                            ended = under_way.pop(brought)
                            done[ended] = end(asked[ended], brought.result())
                    begin_next()  # the API works on the next requests while the caller uses this answer
                    yield done.pop(place)
            except BaseException as error:
                self.stopping.set()
                if not isinstance(error, Exception):  # such as Ctrl-C
                    # Ctrl-C does not wait for answers; any other failure does, because they are paid for.
                    self.abandon()
                raise

    def pause(self, seconds: float) -> None:
        """Sleep, or wake when another request fails."""
        self.stopping.wait(seconds)
