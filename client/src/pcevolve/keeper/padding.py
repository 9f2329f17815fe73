"""The clock of the private side: an answer that depends on private data leaves at a whole tick.

A section longer than its tick is visible, and the owner is told. A tick that grew with the work would reveal
more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LEAST_TICK = 0.5
"""In seconds: a dozen times the measurement, draw and payment of a small run on a quiet machine."""
SLOW_DAY = 1.5
"""Private work may take longer than in this run by this factor; a tick covers that."""
SECONDS_PER_PAIR = 1e-7
"""Five times what a vote takes for one private image and one candidate, at 256 numbers an embedding."""


def choose_tick(asked: float | None, pairs: int) -> float:
    """Return the requested tick, or one that covers private work of a public size.

    It depends on no clock: a tick that followed the work would reveal how long that takes.

    Args:
        asked: Seconds; 0: nothing is hidden; None: not given.
        pairs: Nominal private images times candidates that they are compared with in the largest round.
    """
    needed = LEAST_TICK * max(1, math.ceil(pairs * SECONDS_PER_PAIR / LEAST_TICK))
    return needed if asked is None else asked


@dataclass
class Padding:
    """Makes private work take a whole number of ticks from its beginning.

    Attributes:
        tick: Seconds. 0: work takes as long as it takes.
        longest: Seconds of the longest section. Private: for the owner's screen alone.
    """

    tick: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    longest: float = field(default=0.0, init=False, repr=False)

    @contextmanager
    def section(self, began: float | None = None) -> Iterator[None]:
        """Make the block take a whole number of ticks, at least one; also if it fails.

        Args:
            began: Its beginning, if earlier: work before the first request, for which no tick is too short.
        """
        since = self.clock() if began is None else began
        try:
            yield
        # Not ``finally``: Ctrl-C is not delayed, because its time depends on the owner, not on the data.
        except Exception:
            # A run that ends here is seen to end, so that time is a whole tick, too.
            self._pad(since, counts=began is None)
            raise
        self._pad(since, counts=began is None)

    def _pad(self, began: float, counts: bool) -> None:
        passed = self.clock() - began
        # The longest is kept to tell the owner that a tick was too short; nothing that is sent depends on it.
        if counts:
            self.longest = max(self.longest, passed)
        # At least one tick, so that quick work does not stand out.
        wanted = max(1, math.ceil(passed / self.tick)) * self.tick if self.tick else 0.0
        if wanted > passed:
            self.sleep(wanted - passed)


def describe_padding(tick: float) -> str:
    """Describe before a run how the length of private work is hidden."""
    if not tick:
        return (
            "not hidden: privacy.pad_selection=0 lets the provider time all private work between two requests"
        )
    return f"private work between two requests is padded to whole multiples of {tick:g} s (privacy.pad_selection)"


def judge_padding(longest: float, tick: float) -> str:
    """Say whether all private sections of a run fitted into one tick: private, so for the owner's screen alone.

    Returns:
        One line; it begins with WARNING if the provider saw more than one tick.
    """
    text = f"the longest private work between two requests took {longest:.2g} s of the {tick:g} s"
    if not tick:
        return f"Time: {describe_padding(0)}"
    if longest <= tick:
        return f"Time: {text} that it was padded to"
    enough = math.ceil(longest * SLOW_DAY)
    return (
        f"WARNING: {text} that one tick lasts, so the provider saw that it was more: "
        f"give --set privacy.pad_selection={enough} next time, or with --resume RUN"
    )
