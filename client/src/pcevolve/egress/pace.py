"""When requests leave: at moments that tell a provider with a clock nothing, and several of a round at once.

Public work takes as long as it takes, because the provider could do it again. Private work takes a whole number of
ticks from its own beginning, so that neither its length nor its end can be read off a pause. What need not happen
between two requests happens before the greeting or after the connection is closed. A section longer than its tick is
seen to be, and the owner is told; a tick that grew with the work would tell more.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Generic, TypeAlias, TypeVar

Asked = TypeVar("Asked")
Brought = TypeVar("Brought")
Answer = TypeVar("Answer")
Wait: TypeAlias = Callable[[], Brought]
LEAST_TICK = 0.5
"""Seconds: a dozen times what measurement, draw, payment and record of a small run take on a quiet machine."""
SECONDS_PER_PAIR = 1e-7
"""Five times what a vote takes for one private image and one candidate, at 256 numbers an embedding."""


def choose_tick(asked: float | None, pairs: int) -> float:
    """Return the tick that was asked for, or one that covers private work of a public size.

    No clock has a part in it: a tick that followed the work would tell how long that takes.

    Args:
        asked: Seconds; 0: nothing is hidden; None: nobody said.
        pairs: Nominal private images times candidates that they are compared with in the largest round.
    """
    needed = LEAST_TICK * max(1, math.ceil(pairs * SECONDS_PER_PAIR / LEAST_TICK))
    return needed if asked is None else asked


@dataclass
class Pace:
    """The schedule of a run's requests.

    Attributes:
        tick: Seconds; a private section takes a whole number of them. 0: as long as it takes.
        gap: Least seconds from one answer to the next request.
        longest: Seconds that the longest padded section worked. Private: for the owner's screen alone.
    """

    tick: float = 0.0
    gap: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    longest: float = field(default=0.0, init=False, repr=False)
    _answered: float | None = field(default=None, init=False)
    _padded: bool = field(default=False, init=False)

    @contextmanager
    def section(self) -> Iterator[None]:
        """Let what happens inside take a whole number of ticks, at least one; also if it fails."""
        began = self.clock()
        try:
            yield
        # Not ``finally``: for Ctrl-C nobody waits, and it comes when the owner wants it, whatever the data are.
        except Exception:
            self._pad(began)  # a run that ends here is seen to end, and when is a tick too
            raise
        self._pad(began)

    def wait_before_request(self, opens_round: bool) -> None:
        """Wait until the next request may leave; the first request of a process leaves at once.

        A round that opens without a private section since the last answer has its whole pause rounded up: whoever
        selected outside of a section gains nothing by it.
        """
        if self._answered is None:
            return
        passed = self.clock() - self._answered
        rounded = self._round_up(passed) if opens_round and not self._padded else 0.0
        if max(self.gap, rounded) > passed:
            self.sleep(max(self.gap, rounded) - passed)

    def note_answer(self) -> None:
        """Begin the next pause: an answer is in, or the attempt failed."""
        self._answered = self.clock()
        self._padded = False

    def _pad(self, began: float) -> None:
        passed = self.clock() - began
        # The longest is kept to tell the owner that a tick was too short; nothing that is sent depends on it.
        self.longest = max(self.longest, passed)
        wanted = self._round_up(passed)
        if wanted > passed:
            self.sleep(wanted - passed)
        self._padded = True

    def _round_up(self, passed: float) -> float:
        """At least one tick, so that quick work does not stand out."""
        return max(1, math.ceil(passed / self.tick)) * self.tick if self.tick else 0.0


@dataclass(frozen=True)
class Ready(Generic[Answer]):
    """Nothing has to be waited for."""

    answer: Answer


@dataclass
class RequestWindow:
    """Several requests of a round under way at once, and what they bring in the order in which they were asked for.

    Whoever asks decides, one thing after the other, what may leave next and what came of it; all that happens in other
    threads is the wait for the API.

    Attributes:
        most: How many at most. With one, everything happens in the caller's own thread.
        abandon: Ends what is under way without its answer.
        stopping: Set once one of them failed, so that none of the others is tried anew.
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
        """Begin each in its turn, wait for several at once, end each as soon as it is there, and tell in their order.

        If one fails, what is under way is waited for, so that nothing that is paid for gets lost.

        Args:
            may_begin: Whether it may be under way beside those that are; the oldest always may.
            begin: Says what has to be waited for; called in the caller's thread, in order.
            end: Makes the answer of what was waited for; called in the caller's thread, in the order of arrival.
        """
        # No threads for one at a time: errors and Ctrl-C then need no way back to the caller.
        if self.most == 1:
            for each in asked:
                begun = begin(each)
                yield begun.answer if isinstance(begun, Ready) else end(each, begun())
            return
        # The event is the gate's, for all rounds; a run that was caught and goes on must not find it set.
        self.stopping.clear()
        left, under_way = deque(enumerate(asked)), dict[Future[Brought], int]()
        done: dict[int, Answer] = {}

        def begin_next() -> None:
            # Where nothing is under way, to begin what may not is an error, which ``begin`` raises.
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
                        # By place, so that of several that came at once the record has the plan's order, not a set's.
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
        """Sleep, unless another one failed."""
        self.stopping.wait(seconds)
