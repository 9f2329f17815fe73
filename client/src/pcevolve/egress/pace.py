"""Times at which requests leave, chosen so that a provider with a clock learns nothing from the pauses.

Public work takes as long as it takes, because the provider could do it again. Private work takes a whole number of
ticks from its own beginning, so that neither its length nor its end can be read off a pause (docs/decisions/0014).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Pace:
    """The schedule of a run's requests.

    Attributes:
        tick: Seconds; a private section takes a whole number of them. 0: as long as it takes.
        gap: Least seconds from one answer to the next request.
        clock: Seam for tests, in seconds.
        sleep: Seam for tests.
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
        except Exception:
            self._fill(began)  # a run that ends here is seen to end, and when is a tick too
            raise
        self._fill(began)

    def await_turn(self, opens_round: bool) -> None:
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

    def answered(self) -> None:
        """An answer is in, or the attempt failed: the next pause begins."""
        self._answered = self.clock()
        self._padded = False

    def _fill(self, began: float) -> None:
        passed = self.clock() - began
        self.longest = max(self.longest, passed)
        wanted = self._round_up(passed)
        if wanted > passed:
            self.sleep(wanted - passed)
        self._padded = True

    def _round_up(self, passed: float) -> float:
        """At least one tick, so that quick work does not stand out."""
        return max(1, math.ceil(passed / self.tick)) * self.tick if self.tick else 0.0
