"""The clock of the private side: an answer that depends on private data is delayed to a whole tick.

If private work takes longer than a tick, the provider sees that, and the owner is warned. A tick that grew
with the work would reveal more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LEAST_TICK = 0.5
"""Shortest tick in seconds: twelve times the time in which a small run measures, draws and pays on an idle machine."""
SLOW_DAY = 1.5
"""The advised tick is this many times as long as the longest private work, which may be slower next time."""
SECONDS_PER_PAIR = 1e-7
"""Assumed seconds for each pair of a private image and a candidate.

A vote on embeddings of 256 numbers takes a fifth of this time.
"""


def choose_tick(asked: float | None, pairs: int) -> float:
    """Return the requested tick, or a tick long enough for private work of a public size, in seconds.

    The tick depends on public sizes, not on a clock: a tick that followed the work would reveal the work's
    duration.

    Args:
        asked: Requested tick in seconds; 0 to hide nothing; None for the default.
        pairs: Nominal private images times the candidates that they are compared with in the largest round.
    """
    needed = LEAST_TICK * max(1, math.ceil(pairs * SECONDS_PER_PAIR / LEAST_TICK))
    return needed if asked is None else asked


@dataclass
class Padding:
    """Makes private work take a whole number of ticks from its beginning.

    Attributes:
        tick: Seconds; 0 for no padding.
        longest: Seconds of the longest section; private, for the owner's screen alone.
    """

    tick: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    longest: float = field(default=0.0, init=False, repr=False)

    @contextmanager
    def section(self, began: float | None = None) -> Iterator[None]:
        """Make the block take a whole number of ticks, at least one, even if it fails.

        Args:
            began: An earlier beginning, for work before the first request; such work never counts as too
                long.
        """
        since = self.clock() if began is None else began
        try:
            yield
        # Not ``finally``: Ctrl-C need not be delayed, because its time depends on the owner, not on the data.
        except Exception:
            # The provider sees that a failing run ends, so that time is padded too.
            self._pad(since, counts=began is None)
            raise
        self._pad(since, counts=began is None)

    def _pad(self, began: float, counts: bool) -> None:
        passed = self.clock() - began
        # Kept only to warn the owner that a tick was too short; nothing that is sent depends on it.
        if counts:
            self.longest = max(self.longest, passed)
        # At least one tick, so that quick work is not distinguishable.
        wanted = max(1, math.ceil(passed / self.tick)) * self.tick if self.tick else 0.0
        if wanted > passed:
            self.sleep(wanted - passed)


def describe_padding(tick: float) -> str:
    """Describe, before a run, how the duration of private work is hidden."""
    if not tick:
        return (
            "not hidden: with privacy.pad_selection=0 the provider can measure the time of private work "
            "between two requests"
        )
    return f"the time of private work between two requests is padded to multiples of {tick:g} s (privacy.pad_selection)"


def judge_padding(longest: float, tick: float) -> str:
    """State whether each private section of a run fitted into one tick; private, for the owner's screen alone.

    Returns:
        One line; it begins with WARNING if the provider saw more than one tick.
    """
    text = f"the longest private work between two requests took {longest:.2g} s of the {tick:g} s"
    if not tick:
        return f"Time: {describe_padding(0)}"
    if longest <= tick:
        return f"Time: {text} to which it was padded"
    enough = math.ceil(longest * SLOW_DAY)
    return (
        f"WARNING: {text} to which it is padded, so the provider could observe the longer time: "
        f"give --set privacy.pad_selection={enough} next time, or with --resume RUN"
    )
