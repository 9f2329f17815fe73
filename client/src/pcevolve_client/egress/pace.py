"""When requests leave: what a provider with a clock can learn from the pauses between them.

Within a round nothing private is computed between two requests. Between rounds the private side selects, and how long
that takes depends a little on the private images; that pause is rounded up to a whole number of ticks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Pace:
    """The schedule of a run's requests.

    Attributes:
        tick: Seconds; the pause before a round's first request is a whole number of them. 0: as long as it takes.
        gap: Least seconds from one answer to the next request.
        clock: Seam for tests, in seconds.
        sleep: Seam for tests.
    """

    tick: float = 0.0
    gap: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _answered: float | None = field(default=None, init=False)

    def await_turn(self, opens_round: bool) -> None:
        """Wait until the next request may leave; the first request of a process leaves at once."""
        if self._answered is None:
            return
        passed = self.clock() - self._answered
        wanted = max(self.gap, self._rounded(passed)) if opens_round else self.gap
        if wanted > passed:
            self.sleep(wanted - passed)

    def answered(self) -> None:
        """An answer is in, or the attempt failed: the next pause begins."""
        self._answered = self.clock()

    def _rounded(self, passed: float) -> float:
        """At least one tick, so that a quick selection does not stand out."""
        return max(1, math.ceil(passed / self.tick)) * self.tick if self.tick else 0.0
